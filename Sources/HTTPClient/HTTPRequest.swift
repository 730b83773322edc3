/// What is asked of a server.
public struct HTTPRequest: Sendable {
    public var method: String
    /// `http` or `https`.
    public var url: String
    /// Beside those that HTTP itself needs.
    public var headers: [(name: String, value: String)]
    /// `nil`: none.
    public var body: [UInt8]?
    /// For the whole exchange.
    public var timeoutSeconds = 120

    public init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What the server answered.
public struct HTTPAnswer: Sendable {
    public let status: Int
    /// Names in lower case.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// - Parameter name: in lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Why there is no answer.
public enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcurl could not be prepared.
    case library
    /// It can't be asked: not a URL, or not one of HTTP.
    case url(String)
    /// The answer's body is longer than the client takes.
    case tooLarge(limit: Int)
    /// The server was not reached, or broke off: in libcurl's words.
    case failed(String)

    public var description: String {
        switch self {
        case .library: "libcurl can't be used"
        case .url(let text): text
        case .tooLarge(let limit): "the answer is longer than \(limit >> 20) MiB"
        case .failed(let text): text
        }
    }
}
