/// The methods that the server supports. Others get 501.
public enum RequestMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    /// Supported, so that the handler can refuse it by its name.
    case trace = "TRACE"
}

public enum HTTPVersion: Sendable {
    case http10
    case http11
}
