/// A received request.
public struct ReceivedRequest: Sendable {
    public enum Version: String, Sendable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    public let version: Version
    /// 1 for the first connection of the receiver.
    public let connection: Int
    /// 1 for the first request on its connection; a later one reused the connection.
    public let position: Int
    /// When its last byte was received, in nanoseconds of the machine's monotonic clock.
    public let receivedAt: Int64
    public let method: String
    /// Including the query.
    public let path: String
    /// In order, with names as received: in lower case over HTTP/2, whose `:authority` is `host` here.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// The first value of a header, with the name in any case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A request without the number of its connection.
struct IncomingRequest {
    /// 0 over HTTP/1.1.
    var stream: Int32
    var version: ReceivedRequest.Version
    var method: String
    var path: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]
}
