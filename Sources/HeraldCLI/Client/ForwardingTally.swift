import Synchronization

/// Counts forwarded events for the last line. Any thread.
final class ForwardingTally: Sendable {
    private struct Count {
        var succeeded = 0
        var failed = 0
        var last: String?
    }

    private let count = Mutex(Count())

    func count(_ event: String, isSuccess: Bool) {
        count.withLock {
            if isSuccess { $0.succeeded += 1 } else { $0.failed += 1 }
            $0.last = event
        }
    }

    var summary: String {
        let count = count.withLock { $0 }
        guard let last = count.last else { return "Nothing was forwarded.\n" }
        return "\(count.succeeded) succeeded, \(count.failed) failed; continue with --after \(last)\n"
    }
}
