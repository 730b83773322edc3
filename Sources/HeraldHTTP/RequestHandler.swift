/// The application behind the server. All functions are called on a loop's thread and must not block.
public protocol RequestHandler: Sendable {
    /// Decides by its head, before the body is read, whether a request is served. Called once for each valid head.
    func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision

    /// The response for what the server itself found wrong, so that all errors look alike. The server adds
    /// `Connection: close` and `Retry-After` where the failure asks for them.
    func failure(_ failure: RequestFailure) -> Response

    /// Asked only while `maxWaiting` requests wait: false for a request that is always answered at once, so that it is
    /// served even then.
    func mayWait(_ head: RequestHead) -> Bool

    /// The requests that had come were handled, all in a row: the loop looks for others now, or sleeps. What was put off to
    /// be done for all of them together is due.
    func roundEnded()
}

/// What becomes of a request whose head has come.
public enum RequestDecision: Sendable {
    /// Answers at once, and closes the connection if a body was announced.
    case refused(Response)
    /// Whoever takes the request when it is complete.
    case admitted(any AdmittedRequest)
}

/// A request whose head was let in, on its way to its body.
public protocol AdmittedRequest: AnyObject, Sendable {
    /// The complete request. Called at most once, on a loop's thread; must not block. Answer through `responder`, now or
    /// later.
    func handle(_ request: Request, _ responder: Responder)
}

extension RequestHandler {
    public func mayWait(_ head: RequestHead) -> Bool { true }
}
