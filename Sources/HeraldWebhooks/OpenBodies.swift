import HeraldRuntime

/// The responses whose header section is complete, and whose body is not.
///
/// The status decides the outcome of these, so a body has half a second to end, and is cut off then. Owned by one sender and
/// confined to its thread.
final class OpenBodies {
    private struct Entry {
        let transfer: Transfer
        /// Identifies the response, as the transfer is used again.
        let decidedAt: Int64

        var isOpen: Bool { transfer.isOpen && transfer.decidedAt == decidedAt }
    }

    /// In nanoseconds.
    static let time: Int64 = 500_000_000

    /// The bodies of this turn. Most bodies arrive with the header section.
    private var recent: [Entry] = []
    /// Oldest first.
    private var entries = FIFO<Entry>()

    /// Called from within libcurl when the header section of a response is complete.
    func insert(_ transfer: Transfer) {
        recent.append(Entry(transfer: transfer, decidedAt: transfer.decidedAt))
    }

    /// When the next body is cut off, unless it ends before: nanoseconds of the monotonic clock; `max` for never.
    var nextDeadline: Int64 { (entries.first ?? recent.first).map { $0.decidedAt + Self.time } ?? .max }

    /// The transfers whose time is over. Called after those that libcurl has finished were reported.
    func takeOverdue(_ now: Int64) -> [Transfer] {
        if !recent.isEmpty {
            for entry in recent where entry.isOpen { entries.append(entry) }
            recent.removeAll(keepingCapacity: true)
        }
        var overdue: [Transfer] = []
        while let first = entries.first, !first.isOpen || nextDeadline <= now {
            if first.isOpen { overdue.append(first.transfer) }
            entries.removeFirst()
        }
        return overdue
    }

    func removeAll() {
        recent = []
        entries = FIFO()
    }
}
