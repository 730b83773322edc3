import HeraldRuntime
import Synchronization

/// The end of a process that shares the delegates: it gives its shards away before its loops stop. Those without open attempts
/// go on elsewhere at once. Any thread.
final class ShardHandover: Sendable {
    private static let never = Int64.max
    private let end = Atomic<Int64>(never)
    private let done = Semaphore()

    /// When open attempts are no longer waited for, in monotonic nanoseconds; `nil` before the end.
    var deadline: Int64? {
        let end = end.load(ordering: .relaxed)
        return end == Self.never ? nil : end
    }

    func begin(deadline: Int64) { end.store(deadline, ordering: .relaxed) }

    /// Everything is given.
    func ended() { done.signal() }

    /// Waits until everything is given, or it is too late.
    func wait(until isTooLate: () -> Bool) {
        while !done.wait(milliseconds: 100), !isTooLate() {}
    }
}
