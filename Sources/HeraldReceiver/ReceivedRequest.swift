/// A request as it came.
public struct ReceivedRequest: Sendable {
    public enum Version: String, Sendable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    public let version: Version
    /// 1 for the first connection that the receiver took.
    public let connection: Int
    /// 1 for the first request on its connection: a later one came over a connection that was used before.
    public let position: Int
    /// When the last byte of it was there, in nanoseconds of the machine's monotonic clock.
    public let receivedAt: Int64
    public let method: String
    /// With the query.
    public let path: String
    /// In order, names as they were written: in lower case over HTTP/2, whose `:authority` is here as `host`.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// The first value of a header, whatever the case of its name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A request before its connection has said which one it is.
struct IncomingRequest {
    /// 0 over HTTP/1.1.
    var stream: Int32
    var version: ReceivedRequest.Version
    var method: String
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
}
