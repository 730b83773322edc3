/// An answer. `Content-Length`, `Date` and `Connection` are the server's business.
public struct Response: Sendable {
    /// A header field of a response.
    public struct Field: Sendable {
        public let name: StaticString
        /// A value with a control character is never sent: the whole field is left out.
        public let value: String

        public init(_ name: StaticString, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public var status: Int
    public var headers: [Field]
    public var body: [UInt8]
    /// Closes the connection after this answer.
    public var closesConnection: Bool
    /// Milliseconds that the answer is held back, and then the connection is closed: for those who guess. Meanwhile the
    /// connection costs no more than one without a request. Holds for refusals by `authorize`, and for what is answered within
    /// `handle`; other answers are late already, and go out at once.
    public var holdMilliseconds = 0

    public init(status: Int, headers: [Field] = [], body: [UInt8] = [], closesConnection: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.closesConnection = closesConnection
    }
}

extension Response.Field {
    /// Whether the value can stand on a line of its own without starting another.
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
