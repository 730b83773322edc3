import HeraldRuntime

/// Event types are described, inside a transaction.
extension LogWriter {
    func describe(
        _ write: EventTypeWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        let outcome = try perform(write, transaction, &plan)
        switch outcome {
        case .added, .replaced, .removed: try note(write.provenance, write.app, target: write.type, transaction)
        case .notFound, .versionMismatch, .tooMany: break
        }
        let completion = write.completion
        plan.answers.append { completion(.done(outcome)) }
    }

    private func perform(
        _ write: EventTypeWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> EventTypeWrite.Outcome {
        let current = catalogue.record(write.app, write.type)
        if let version = write.ifVersion, version != current?.version { return .versionMismatch }
        switch write.action {
        case .remove:
            guard current != nil else { return .notFound }
            try transaction.removeEventType(write.type, app: write.app)
            plan.effects.append(.removeEventType(write.type, write.app))
            return .removed
        case .set(let description):
            if current == nil, catalogue.list(write.app).count >= EventTypeWrite.maxTypes { return .tooMany }
            let now = clock.wall()
            let record = EventTypeRecord(
                app: write.app, type: write.type, description: description.text, example: description.example,
                schema: description.schema, check: description.check, createdAt: current?.createdAt ?? now,
                updatedAt: now, version: (current?.version ?? 0) + 1)
            try transaction.setEventType(record)
            plan.effects.append(.setEventType(record))
            return current == nil ? .added(record) : .replaced(record)
        }
    }
}
