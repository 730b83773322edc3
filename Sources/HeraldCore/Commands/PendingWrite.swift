package import HeraldModel
import HeraldRuntime

/// A change of a scheduled event, with its completion.
package struct PendingWrite: Sendable {
    package enum Action: Sendable {
        /// - Parameter dueAt: milliseconds since 1970 UTC. A time in the past publishes the event at once.
        case move(to: Int64)
        case cancel
    }

    package enum Outcome: Sendable {
        case moved(PendingEvent)
        case cancelled
        /// Nothing was changed.
        case failed(HubError)

        /// Why nothing was changed; `nil` if it was.
        package var error: HubError? { if case .failed(let error) = self { error } else { nil } }
    }

    package let app: AppKey
    package let id: String
    package let action: Action
    package let provenance: Provenance?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, id: String, action: Action, provenance: Provenance? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.id = id
        self.action = action
        self.provenance = provenance
        self.completion = completion
    }
}

extension PendingWrite: RequestCommand {
    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let outcome = try change(context, transaction, &plan)
        switch outcome {
        case .moved, .cancelled: try context.record(provenance, app, target: id, transaction)
        case .failed: break
        }
        return outcome
    }

    private func change(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let logged = try transaction.event(app: app, id: id)?.event
        guard let found = try transaction.pending(app: app, id: id) else {
            return .failed(
                logged == nil
                    ? .notFound("There is no scheduled event with the id \(id).") : .alreadyPublished(id: id))
        }
        // An event of another source may have the id, and the scheduled one is published under another id then.
        if let logged, logged.hasSource(of: found.event) { return .failed(.alreadyPublished(id: id)) }
        let other = found.event.qualified().id
        if try transaction.event(app: app, id: other) != nil { return .failed(.alreadyPublished(id: other)) }
        switch action {
        case .move(let dueAt):
            // A time that was not given is that of the delivery.
            let time = found.event.time == found.dueAt ? dueAt : found.event.time
            try transaction.movePending(app: app, id: id, to: dueAt, time: time)
            try context.countPending(app, events: 0, bytes: 0, earliest: dueAt, transaction, &plan)
            let old = found.event
            let event = Event(
                app: app, id: old.id, type: old.type, subject: old.subject, time: time, attributes: old.attributes,
                data: old.data)
            return .moved(PendingEvent(key: found.key, event: event, dueAt: dueAt))
        case .cancel:
            try transaction.removePending([found.key])
            try context.countPending(
                app, events: -1, bytes: -Int64(found.event.storedBytes), transaction, &plan)
            return .cancelled
        }
    }
}
