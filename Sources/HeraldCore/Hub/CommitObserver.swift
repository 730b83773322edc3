import Delegation
import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// An object that waits for events of pull delegates.
package protocol PullObserver: AnyObject, Sendable {
    /// Others may have returned events of the delegate, or changed it. The writer's thread; must not wait.
    func mayHaveEvents(_ delegate: DelegateKey)
}

/// An object that waits for attempts.
package protocol AttemptObserver: AnyObject, Sendable {
    /// Attempts to call webhooks were recorded. The writer's thread; must not wait.
    func recordedAttempts()
}

/// Applies committed changes to the state in memory, and then notifies the delivery loops. The writer's thread.
struct CommitObserver: Sendable {
    let committed: CommittedState
    /// Called with about what the attempts of a commit take, in bytes.
    let recordedAttempts: @Sendable (Int) -> Void
    let loops: Int
    let clock: Clock
    /// Called after changes of pull delegates.
    let pulls: MulticastDelegate<any PullObserver>
    /// Called when attempts were recorded.
    let attempts: MulticastDelegate<any AttemptObserver>
    /// Sends a message to one of the delivery loops, by its number.
    let send: @Sendable (_ loop: Int, LoopMessage) -> Void

    @Sendable
    func apply(_ effect: WriteEffect) {
        committed.apply(effect)
        switch effect {
        case .set(let delegate): send(delegate.key, .set(delegate))
        case .remove(let delegates):
            for delegate in delegates {
                switch delegate.settings.kind {
                case .webhook: send(delegate.key, .remove(delegate.key))
                // The registry does not have it any more.
                case .pull: pulls.invokeDelegates { $0.mayHaveEvents(delegate.key) }
                }
            }
        case .redelivered(let deliveries):
            for delivery in deliveries { send(delivery.delegate, .redeliver(delivery)) }
        case .pulled(let change):
            committed.pulls.add(change, at: clock.wall())
            if change.returnsEvents { pulls.invokeDelegates { $0.mayHaveEvents(change.delegate) } }
        case .dropped(let deliveries):
            for delivery in deliveries { send(delivery.delegate, .drop(delivery)) }
        case .known(let change): sendAll(.known(change: change))
        case .replay(let replay): send(replay.delegate, .replay(replay))
        case .endReplay(let id, let delegate): send(delegate, .endReplay(id, delegate))
        case .erased(let events, let app, _): sendAll(.erase(events, of: app))
        case .recordedAttempts(let bytes):
            recordedAttempts(bytes)
            attempts.invokeDelegates { $0.recordedAttempts() }
        case .erasedStatuses, .counted, .trimmed, .setEventType, .removeEventType, .setKey, .removeKey, .setSession,
            .removeSession, .setApp, .removeApp, .pending, .nextPending, .refused:
            break
        }
    }

    /// Sends a message to the loop that owns the delegate's lane, if it has one.
    private func send(_ key: DelegateKey, _ message: LoopMessage) {
        if committed.registry.delegate(key: key)?.settings.kind == .pull {
            return pulls.invokeDelegates { $0.mayHaveEvents(key) }
        }
        send(Shards.loop(of: key, among: loops), message)
    }

    private func sendAll(_ message: LoopMessage) { for loop in 0..<loops { send(loop, message) } }
}
