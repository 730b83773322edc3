/// A received request.
package struct ReceivedRequest: Sendable {
    package enum Version: String, Sendable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    package let version: Version
    /// 1 for the first connection of the receiver.
    package internal(set) var connection = 0
    /// 1 for the first request on its connection; a later one reused the connection.
    package internal(set) var position = 0
    /// When its last byte was received, in nanoseconds of the machine's monotonic clock.
    package internal(set) var receivedAt: Int64 = 0
    package let method: String
    /// Including the query.
    package let path: String
    /// In order, with names as received: in lower case over HTTP/2, whose `:authority` is `host` here.
    package let headers: [(name: String, value: String)]
    package internal(set) var body: [UInt8] = []

    /// The first value of a header, with the name in any case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }
}
