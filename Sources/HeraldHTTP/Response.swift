/// A response. The server adds `Content-Length`, `Date` and `Connection`.
public struct Response: Sendable {
    /// A header field of a response.
    public struct Field: Sendable {
        public let name: StaticString
        /// A field whose value has a control character is never sent.
        public let value: String

        public init(_ name: StaticString, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public var status: Int
    public var headers: [Field]
    public var body: [UInt8]
    /// Closes the connection after this response.
    public var closesConnection: Bool
    /// How long the response is delayed, in milliseconds; then the connection is closed. For clients that guess keys.
    /// Meanwhile the connection costs no more than an idle one. Applies to refusals by `authorize`, and to responses
    /// within `handle`; other responses are late already, and are sent at once.
    public var holdMilliseconds = 0

    public init(status: Int, headers: [Field] = [], body: [UInt8] = [], closesConnection: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.closesConnection = closesConnection
    }
}

extension Response.Field {
    /// Whether the value can't start another line.
    var isSafe: Bool { areValueBytes(value.utf8.span) }

    func isNamed(_ other: StaticString) -> Bool {
        guard name.utf8CodeUnitCount == other.utf8CodeUnitCount else { return false }
        for index in 0..<name.utf8CodeUnitCount
        where lowercased(name.utf8Start[index]) != lowercased(other.utf8Start[index]) {
            return false
        }
        return true
    }
}
