import Delegation
import HeraldCore
import HeraldModel
import Synchronization

/// Wakes an iteration when the log has grown, when attempts were recorded, or when the hub has stopped. The lock is held for
/// a few instructions.
final class LogSignal: EventDelegate, AttemptObserver, StopObserver {
    struct State {
        /// The last event.
        var head: LogPosition = 0
        /// How often attempts were recorded.
        var recordings = 0
        var hasEnded = false
    }

    private struct Waiting {
        var state = State()
        /// More than one if the iterator was copied.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let waiting = Mutex(Waiting())

    /// - Parameters:
    ///   - description: shown in the list of delegates.
    ///   - hearsAttempts: whether recorded attempts wake it.
    init(_ hub: Hub, _ description: String, hearsAttempts: Bool = false) {
        hub.addDelegate(self, description: description)
        if hearsAttempts { hub.attemptObservers.addDelegate(self) }
        hub.stopObservers.addDelegate(self)
        if hub.isStopping { hubHasStopped() }
        // A batch may be in flight to the delegates that were registered before this one.
        let look: @Sendable () -> Void = { [weak self, weak hub] in
            if let hub { self?.advance { $0.head = max($0.head, hub.head) } }
        }
        // In the writer's next round, without a transaction: a barrier would make one, and another one after the other while
        // the steps of a long task wait.
        if !hub.catchUp({ _ in look() }) { hub.afterDraining(look) }
    }

    var state: State { waiting.withLock { $0.state } }

    func published(_ batch: EventBatch) { advance { $0.head = batch.last } }
    func recordedAttempts() { advance { $0.recordings += 1 } }
    func hubHasStopped() { advance { $0.hasEnded = true } }

    private func advance(_ change: (inout State) -> Void) {
        let waiters = waiting.withLock { waiting in
            change(&waiting.state)
            defer { waiting.waiters = [] }
            return waiting.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns at the latest when the condition may be met, when the hub has stopped, and when the task is cancelled. May return
    /// before that.
    func wait(
        isolation actor: isolated (any Actor)? = #isolation, until isMet: @Sendable (State) -> Bool
    ) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = waiting.withLock { waiting in
                    // The cancellation handler may have run already.
                    if isMet(waiting.state) || waiting.state.hasEnded || Task.isCancelled { return true }
                    waiting.waiters.append(continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            advance { _ in }
        }
    }
}
