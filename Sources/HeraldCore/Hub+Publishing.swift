extension Hub {
    /// Makes events durable and tells everyone.
    /// - Returns: what became of each, in their order.
    /// - Throws: `WriteRefusal`; nothing was posted then.
    public func publish(_ drafts: [EventDraft]) async throws -> [PostedEvent] {
        let result = await withCheckedContinuation { continuation in
            publish(Publication(drafts: drafts) { continuation.resume(returning: $0) })
        }
        switch result {
        case .done(let posted): return posted
        case .refused(let refusal): throw refusal
        case .replayed: return []  // only with an idempotency key, and there is none
        }
    }
}
