import HeraldDelivery
package import HeraldModel
package import HeraldRuntime
import Synchronization

/// A sender without a network: a closure decides how each callback ends and when. For tests.
///
/// The lock guards open and ended callbacks; it is never held while calling out.
package final class MemorySender: CallbackSender {
    /// How a callback ends.
    package enum Answer: Sendable {
        case now(CallbackOutcome)
        case after(nanoseconds: Int64, CallbackOutcome)
        /// When `finish` is called.
        case manual
    }

    private struct State {
        var open: [Int: Callback] = [:]
        var later = TimerQueue<(callback: Callback, outcome: CallbackOutcome)>()
        var ended: [(token: Int, outcome: CallbackOutcome)] = []
    }

    package let capacity: Int
    private let clock: Clock
    private let answer: @Sendable (Callback) -> Answer
    private let state = Mutex(State())
    private let wakeup: Wakeup

    /// - Parameter answer: called once for each callback, on the loop's thread, when it starts. Must not wait.
    package init(
        capacity: Int = 1_000, clock: Clock = .system,
        answer: @escaping @Sendable (Callback) -> Answer = { _ in .now(.answered(200)) }
    ) throws(SystemError) {
        self.capacity = capacity
        self.clock = clock
        self.answer = answer
        wakeup = try Wakeup()
    }

    /// The open callbacks, in the order of their tokens. Any thread.
    package var open: [Callback] { state.withLock { $0.open.values.sorted { $0.token < $1.token } } }

    /// Ends a callback with the answer `manual`. Any thread.
    /// - Returns: whether it was open.
    @discardableResult
    package func finish(_ token: Int, _ outcome: CallbackOutcome) -> Bool {
        let wasOpen = state.withLock { state in
            guard state.open.removeValue(forKey: token) != nil else { return false }
            state.ended.append((token, outcome))
            return true
        }
        if wasOpen { wakeup.signal() }
        return wasOpen
    }

    package func start(_ callback: Callback) {
        let answer = self.answer(callback)
        let now = clock.monotonic()
        state.withLock { state in
            switch answer {
            case .now(let outcome): state.ended.append((callback.token, outcome))
            case .after(let nanoseconds, let outcome):
                state.open[callback.token] = callback
                state.later.insert((callback, outcome), due: now + nanoseconds)
            case .manual: state.open[callback.token] = callback
            }
        }
    }

    package func abort(_ shards: Shards) {
        state.withLock { state in
            for (token, callback) in state.open where shards.contains(callback.delegate.key) {
                state.open[token] = nil
                state.ended.append(
                    (token, CallbackOutcome(verdict: .failed(.stopped, detail: "it was aborted"), duration: 0)))
            }
        }
    }

    package func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        let (ended, next) = takeEnded()
        if ended.isEmpty {
            wakeup.wait(milliseconds: Self.milliseconds([nanoseconds, next].compactMap { $0 }.min()))
            for (token, outcome) in takeEnded().ended { finished(token, outcome) }
        } else {
            wakeup.clear()
            for (token, outcome) in ended { finished(token, outcome) }
        }
    }

    /// - Returns: the ended callbacks, and the time until the next one ends, in nanoseconds.
    private func takeEnded() -> (ended: [(token: Int, outcome: CallbackOutcome)], next: Int64?) {
        let now = clock.monotonic()
        return state.withLock { state in
            while let (callback, outcome) = state.later.popDue(now: now) {
                if state.open.removeValue(forKey: callback.token) != nil {
                    state.ended.append((callback.token, outcome))
                }
            }
            let ended = state.ended
            state.ended = []
            return (ended, state.later.nextDue.map { $0 - now })
        }
    }

    /// Rounded up, so that a sleep does not end just before the awaited time.
    private static func milliseconds(_ nanoseconds: Int64?) -> Int32 {
        guard let nanoseconds else { return -1 }
        return Int32(clamping: (max(0, nanoseconds) + 999_999) / 1_000_000)
    }

    package func wake() { wakeup.signal() }

    package func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        let open = state.withLock { state in
            let open = state.open.keys.sorted()
            state = State()
            return open
        }
        for token in open {
            finished(token, CallbackOutcome(verdict: .failed(.stopped, detail: "the loop has stopped"), duration: 0))
        }
    }
}

extension CallbackOutcome {
    /// A response with this status, at once.
    package static func answered(_ status: Int, retryAfter: Int? = nil) -> CallbackOutcome {
        CallbackOutcome(verdict: .answered(status: status, retryAfter: retryAfter), duration: 0)
    }
}

/// The parts that senders without a network lack.
extension CallbackSender {
    /// Ignored.
    package var fence: Int64 {
        get { .max }
        set {}
    }

    package func slept(asOf now: Int64) -> Int64 { now }

    /// Accepts any URL of a usual length.
    package func problems(of settings: inout WebhookSettings) -> [FieldError] {
        (1...2_048).contains(settings.url.utf8.count) ? [] : [FieldError("/url", "must have 1 to 2048 bytes")]
    }

    package func preview(_ callback: Callback) -> RequestPreview {
        .notMade(FieldError("/request", "this sender makes no HTTP requests"))
    }
}
