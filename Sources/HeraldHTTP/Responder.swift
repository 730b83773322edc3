package import HeraldRuntime
internal import Synchronization

/// The response to one request. May be kept, and used from any thread. If it is released without a response, it sends
/// 500.
///
/// It keeps the server's loop alive, and so the handler: a handler that keeps responders should release them after
/// `stop`.
package final class Responder: Sendable {
    private let connection: ClientConnection
    private let request: UInt64
    private let peer: PeerAddress
    private let state = Atomic(State.open)

    private enum State: UInt8, AtomicRepresentable {
        /// `begun`: a change may be made, whose outcome is the response.
        case open, begun, sent
    }

    init(_ connection: ClientConnection, request: UInt64) {
        self.connection = connection
        self.request = request
        // The connection's belongs to the loop's thread.
        peer = connection.peer
    }

    deinit {
        if state.load(ordering: .relaxed) != .sent {
            connection.loop.answer(connection, request, nil)
        }
    }

    /// The server's loop that has the request.
    package var loop: any CallerLoop { connection.loop }

    /// Sends the response; never blocks. Only the first call counts. Does nothing if the connection is closed.
    package func send(_ response: Response) { _ = sendFirst(response) }

    /// - Returns: `false` if there was a response already, so that this one is not sent.
    package func sendFirst(_ response: Response) -> Bool {
        if state.exchange(.sent, ordering: .relaxed) == .sent { return false }
        connection.loop.answer(connection, request, response)
        return true
    }

    /// To be called before a change is made whose outcome the response reports.
    /// - Returns: `false` if there is a response, such as that of a deadline: the change must not be made.
    package func begin() -> Bool {
        state.compareExchange(expected: .open, desired: .begun, ordering: .relaxed).original != .sent
    }

    /// Sends a response that says that nothing was done, unless a change has begun.
    /// - Returns: whether it was sent.
    package func sendUnlessBegun(_ response: Response) -> Bool {
        guard state.compareExchange(expected: .open, desired: .sent, ordering: .relaxed).exchanged else { return false }
        connection.loop.answer(connection, request, response)
        return true
    }

    /// Whether a response was sent, such as that of a deadline.
    package var hasResponse: Bool { state.load(ordering: .relaxed) == .sent }

    /// Reports whether the client still waits for the response.
    /// - Parameter body: called on the loop's thread, unless the server stops; must not wait.
    package func isAwaited(_ body: @escaping @Sendable (Bool) -> Void) {
        connection.loop.post { [connection, request] in body(connection.isAwaited(request)) }
    }

    /// Responds with 200 and a body that continues until the client or the delegate ends it: the end of the connection
    /// is the end of the body.
    /// - Parameter group: shares the streams with other groups; `nil` for none.
    /// - Returns: `false` if there are too many streams; the request needs another response then.
    package func stream(
        _ headers: [Response.Field], _ rules: StreamRules = StreamRules(), group: Int64? = nil,
        to delegate: any ResponseStreamDelegate
    ) -> Bool {
        let holder = StreamHolder(peer: peer, group: group)
        guard let start = StreamStart(connection.loop.streams, holder, headers, rules, delegate) else {
            return false
        }
        if state.exchange(.sent, ordering: .relaxed) == .sent { return true }
        connection.loop.post(.stream(connection, request: request, start))
        return true
    }
}
