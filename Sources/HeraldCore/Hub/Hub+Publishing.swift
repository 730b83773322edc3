extension Hub {
    /// Makes events durable and calls the delegates.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `WriteRefusal`; nothing was published then.
    package func publish(_ drafts: [EventDraft]) async throws(WriteRefusal) -> [PublishedEvent] {
        let result = await withCheckedContinuation { continuation in
            publish(Publication(drafts: drafts) { continuation.resume(returning: $0) })
        }
        switch result {
        case .done(let published): return published
        case .refused(let refusal): throw refusal
        case .replayed: return []  // impossible without an idempotency key
        }
    }
}
