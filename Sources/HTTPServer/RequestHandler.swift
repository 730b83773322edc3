/// The application behind the server. All functions are called on a loop's thread and must not block.
public protocol RequestHandler: Sendable {
    /// Judges a valid head before the body is read: a response refuses the request (and closes the connection if a body
    /// was announced), nil lets it go on.
    func refuse(_ head: RequestHead) -> Response?

    /// The complete request. Answer through `responder`, now or later.
    func handle(_ request: Request, _ responder: Responder)

    /// The response for what the server itself found wrong, so that all errors look alike. The server adds
    /// `Connection: close` and `Retry-After` where the failure asks for them.
    func failure(_ failure: RequestFailure) -> Response

    /// Asked only while `maxWaiting` requests wait: false for a request that is always answered at once, so that it is
    /// served even then.
    func mayWait(_ head: RequestHead) -> Bool
}

extension RequestHandler {
    public func refuse(_ head: RequestHead) -> Response? { nil }
    public func mayWait(_ head: RequestHead) -> Bool { true }
}
