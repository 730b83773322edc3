package import HeraldModel
import HeraldRuntime

/// Publishes events from SQL that were validated, and keeps those that are not valid. Removing them and appending them to the log
/// is one deciding transaction, so each is published exactly once.
package struct SubmissionWrite: StoreCommand {
    enum Entry: Sendable {
        case valid(EventDraft)
        case refused(String)
    }

    let entries: [(submission: Submission, entry: Entry)]
    /// Called once, on the writer's thread, with whether the transaction has committed.
    let completion: @Sendable (Bool) -> Void

    package func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let removed = try transaction.removeSubmissions(entries.map(\.submission.key))
        var ids: Set<String> = []
        var scheduled: [AppKey: WriteContext.Scheduled] = [:]
        let now = context.clock.wall()
        for (submission, entry) in entries {
            // Another node was faster, or the app was deleted.
            guard let isInLog = removed[submission.key], context.committed.apps[submission.app] != nil else { continue }
            let isRepeated = !ids.insert("\(submission.app.rawValue) \(submission.id)").inserted
            var reason: String?
            switch entry {
            case .refused(let found): reason = found
            case .valid(let draft):
                do throws(StoreError) {
                    reason = try publish(
                        draft, mayExist: isInLog || isRepeated, now, context,
                        &scheduled[submission.app, default: .init()], transaction, &plan)
                } catch {
                    // A row of its app holds up no other event.
                    guard case .unreadable(let found) = error else { throw error }
                    reason = "a stored row that it needs can't be read: \(found)"
                }
            }
            guard let reason else { continue }
            try context.refuse(submission, reason: reason, at: now, transaction, &plan)
        }
        for (app, added) in scheduled where added.events > 0 {
            try context.countPending(
                app, events: added.events, bytes: added.bytes, earliest: added.earliest, transaction, &plan)
        }
        plan.answers.append { [completion] in completion(true) }
    }

    /// - Returns: why the event is refused; `nil` if it was published or scheduled, or is a duplicate.
    private func publish(
        _ draft: EventDraft, mayExist: Bool, _ now: Int64, _ context: WriteContext,
        _ scheduled: inout WriteContext.Scheduled, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> String? {
        let isLater = draft.deliverAt ?? 0 > now
        let draft = draft.with(mayExist: mayExist || isLater)
        let app = draft.event.app
        var refused = context.refusal(of: [draft], app: app, more: scheduled.bytes, plan)
        if refused == nil, isLater {
            refused = context.refusal(ofScheduling: scheduled.events + 1, of: app, plan)
        }
        // A duplicate takes no room.
        if let refused, try !context.isRepeated(draft, isScheduled: isLater, transaction, &plan) {
            return refused.description
        }
        guard isLater, let dueAt = draft.deliverAt else {
            _ = try context.post(draft, transaction, &plan)
            return nil
        }
        _ = try context.schedule(draft, at: dueAt, &scheduled, transaction, &plan)
        return nil
    }

    package func refuse(_ refusal: HubError) { completion(false) }
}
