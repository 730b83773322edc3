import Synchronization

/// Counts forwarded events for the last line. Any thread.
final class ForwardingTally: Sendable {
    private let count = Mutex((succeeded: 0, failed: 0, last: String?.none))

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
