/// A received request.
package struct ReceivedRequest: Sendable {
    package enum Version: String, Sendable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    package let version: Version
    /// 1 for the first connection of the receiver.
    package let connection: Int
    /// 1 for the first request on its connection; a later one reused the connection.
    package let position: Int
    /// When its last byte was received, in nanoseconds of the machine's monotonic clock.
    package let receivedAt: Int64
    package let method: String
    /// Including the query.
    package let path: String
    /// In order, with names as received: in lower case over HTTP/2, whose `:authority` is `host` here.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    /// The first value of a header, with the name in any case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }
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
