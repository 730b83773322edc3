/// An error that the server found.
package enum RequestFailure: Error, Sendable, Hashable {
    /// 400, with the rule that was broken.
    case malformed(Rule)
    /// 413
    case bodyTooLarge
    /// 414
    case targetTooLong
    /// 417: an expectation other than `100-continue`.
    case unknownExpectation
    /// 421: a `Host` that is not allowed.
    case misdirected
    /// 431: more header fields than `RawHead.maxFields`.
    case tooManyFields
    /// 431: more than `HTTPServerConfiguration.maxHeadBytes`.
    case headTooLarge(limit: Int)
    /// 500: the application released the responder without a response.
    case unanswered
    /// 501: a method outside `RequestMethod`.
    case unknownMethod
    /// 505
    case unsupportedVersion
    /// 503: too many requests are waiting.
    case overloaded
    /// 503: the address has too many connections, and this request has no reserve.
    case tooManyOfAddress
    /// 503: the application did not respond in time.
    case timedOut
    /// 503: the server is being stopped.
    case stopping

    package enum Rule: String, Sendable {
        case requestLine =
            "the request line is not a method, a target and a version of HTTP/1, with a space between them"
        case method = "the method does not consist of capital letters"
        case target = "the target is neither a path nor an http or https URI, or has a byte that must be escaped"
        case version = "the version is neither HTTP/1.0 nor HTTP/1.1"
        case line = "a header line does not end with CR LF, is folded, has no name, no colon, or a NUL"
        case fieldName = "a header name is not a token"
        case fieldValue = "a header value has a control character"
        case repeatedHost = "the header Host is repeated"
        case repeatedContentLength = "the header Content-Length is repeated"
        case repeatedTransferEncoding = "the header Transfer-Encoding is repeated"
        case repeatedAuthorization = "the header Authorization is repeated"
        case repeatedContentType = "the header Content-Type is repeated"
        case repeatedIdempotencyKey = "the header Idempotency-Key is repeated"
        case repeatedApp = "the header Herald-App is repeated"
        case host = "Host is missing or malformed"
        case contentLength = "Content-Length is not a number"
        case lengthAndEncoding = "Content-Length and Transfer-Encoding exclude each other"
        case transferEncoding = "Transfer-Encoding must be exactly chunked, in HTTP/1.1"
        case chunk = "a chunk has no size in hexadecimal, or it or the line with its size does not end with CR LF"
    }

    package var status: Int {
        switch self {
        case .malformed: 400
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unknownExpectation: 417
        case .misdirected: 421
        case .tooManyFields, .headTooLarge: 431
        case .unanswered: 500
        case .unknownMethod: 501
        case .overloaded, .tooManyOfAddress, .timedOut, .stopping: 503
        case .unsupportedVersion: 505
        }
    }

    /// A description for people.
    package var reason: String {
        switch self {
        case .malformed(let rule): rule.rawValue
        case .bodyTooLarge: "the body is too large"
        case .targetTooLong: "the target is too long"
        case .unknownExpectation: "the only supported expectation is 100-continue"
        case .misdirected: "this server does not serve that host"
        case .tooManyFields: "there are too many header fields"
        case .headTooLarge(let limit):
            "the request line and the header fields take more than \(limit) bytes; each field and cookie takes 64 more than its text"
        case .unanswered: "the request was abandoned"
        case .unknownMethod: "the method is unknown"
        case .overloaded: "too many requests are waiting"
        case .tooManyOfAddress: "this address has too many connections"
        case .timedOut: "the request took too long; it is not known whether it was or will be carried out"
        case .stopping: "the server is stopping"
        case .unsupportedVersion: "this server supports HTTP/1.1 and HTTP/1.0"
        }
    }

    /// For `Retry-After`.
    package var retryAfterSeconds: Int? { status == 503 ? 1 : nil }

    /// Whether the rest of the connection can't be trusted, or is not wanted.
    var closesConnection: Bool {
        switch self {
        case .unanswered, .overloaded, .timedOut: false
        default: true
        }
    }
}
