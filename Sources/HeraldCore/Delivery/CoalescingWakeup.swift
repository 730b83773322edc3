import Synchronization

/// Wakes a sender at most once for each turn of its loop: a wake is a system call, and many come while the loop is busy.
final class CoalescingWakeup: Sendable {
    private let sender: any CallbackSender
    private let isAwake = Atomic<Bool>(false)

    init(_ sender: any CallbackSender) { self.sender = sender }

    /// Any thread.
    func wake() {
        if !isAwake.exchange(true, ordering: .acquiringAndReleasing) { sender.wake() }
    }

    /// The loop's thread, before it looks at what has come: a wake after this ends its next sleep.
    func rearm() {
        // An exchange, not a store: it must also see what was posted before a wake that it overwrites.
        _ = isAwake.exchange(false, ordering: .acquiringAndReleasing)
    }
}
