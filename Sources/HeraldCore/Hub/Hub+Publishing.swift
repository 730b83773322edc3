package import HeraldModel

extension Hub {
    /// Makes events durable and calls the delegates. Waits for room in the queue.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `HubError`; nothing was published then. `.cancelled` if the task was cancelled before the writer had taken
    ///   them.
    package func publish(_ drafts: [EventDraft]) async throws(HubError) -> [PublishedEvent] {
        let result: WriteResult<[PublishedEvent]> = await withTicket { ticket, completion in
            publish(Publication(drafts: drafts, ticket: ticket, completion: completion))
        }
        switch result {
        case .done(let published): return published
        case .refused(let refusal): throw refusal
        case .replayed: return []  // impossible without an idempotency key
        }
    }

    /// Waits for a write, which is withdrawn when the task is cancelled before the writer has taken it.
    /// - Parameter submit: submits the write with this ticket and this completion.
    package func withTicket<Outcome: Sendable>(
        _ submit: (WriteTicket, @escaping @Sendable (WriteResult<Outcome>) -> Void) -> Void
    ) async -> WriteResult<Outcome> {
        let ticket = WriteTicket()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                submit(ticket) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            withdraw(ticket)
        }
    }
}
