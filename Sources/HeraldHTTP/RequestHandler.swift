/// The application of a server. All functions are called on a loop's thread and must not block.
package protocol RequestHandler: Sendable {
    /// Decides from the header section, before the body is read, whether a request is served. Called once for each
    /// valid header section.
    func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision

    /// The response to an error that the server found, so that all errors have the same form. The server adds
    /// `Connection: close` and `Retry-After` if the failure requires them.
    /// - Parameter origin: the `Origin` of the request, if its header section was read and has one.
    func failure(_ failure: RequestFailure, for origin: String?) -> Response

    /// Called only while `maxWaiting` requests wait. Returns `false` for a request that never waits, so that it is
    /// served even then.
    func mayWait(_ head: RequestHead) -> Bool

    /// Called only for a connection beyond the limit of its address. Returns `true` for a request that is served even
    /// then.
    func mayUseReserve(_ head: RequestHead) -> Bool

    /// All requests that had arrived were handled; the loop now polls or sleeps. The place for work that was deferred
    /// to the end of a round.
    func roundEnded()
}

/// The decision about a request after its header section.
package enum RequestDecision: Sendable {
    /// Responds at once, and closes the connection if the request has a body.
    case refused(Response)
    /// Handles the request when it is complete.
    case admitted(any AdmittedRequest)
}

/// An authorized request that waits for its body.
package protocol AdmittedRequest: AnyObject, Sendable {
    /// Handles the complete request. Called at most once, on a loop's thread; must not block. Respond with `responder`,
    /// now or later.
    func handle(_ request: Request, _ responder: Responder)
}

extension RequestHandler {
    package func mayWait(_ head: RequestHead) -> Bool { true }
    package func mayUseReserve(_ head: RequestHead) -> Bool { false }
}

/// A complete request. It outlives the connection and can be passed to any thread.
package struct Request: Sendable {
    package let head: RequestHead
    package let body: [UInt8]
    package let peer: PeerAddress
}
