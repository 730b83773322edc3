internal import Synchronization

/// The one answer to a request. May be kept, and used from any thread. Let go without an answer, it answers 500.
///
/// It keeps the server's loop, and so the handler: a handler that keeps responders should let them go after `stop`.
public final class Responder: Sendable {
    private let connection: ClientConnection
    private let request: UInt64
    private let isUsed = Atomic(false)

    init(_ connection: ClientConnection, request: UInt64) {
        self.connection = connection
        self.request = request
    }

    deinit {
        if !isUsed.load(ordering: .relaxed) {
            connection.loop.answer(connection, request, nil)
        }
    }

    /// Answers; never blocks. Only the first call counts. Nothing happens if the connection is gone.
    public func send(_ response: Response) {
        if isUsed.exchange(true, ordering: .relaxed) { return }
        connection.loop.answer(connection, request, response)
    }

    /// Answers 200 with a body that goes on until the client or the delegate ends it: the end of the connection is the end
    /// of the body.
    /// - Returns: `false` when there are too many streams; the request is still to be answered then.
    public func stream(
        _ headers: [Response.Field], _ rules: StreamRules = StreamRules(), to delegate: any ResponseStreamDelegate
    ) -> Bool {
        guard let start = StreamStart(connection.loop.streams, headers, rules, delegate) else { return false }
        if isUsed.exchange(true, ordering: .relaxed) { return true }
        connection.loop.post(.stream(connection, request: request, start))
        return true
    }
}
