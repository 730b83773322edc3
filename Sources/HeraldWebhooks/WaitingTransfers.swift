import HeraldRuntime

/// The transfers of HTTP/2 that may wait within libcurl for a connection.
///
/// When a connection changes, most versions of libcurl try one of those that wait, for any host, and none ends those whose
/// time is over. So hosts that do not continue their TLS handshakes would delay all others. The sender passes these
/// transfers to libcurl again, which then tries each. A value without I/O.
struct WaitingTransfers {
    private struct Entry {
        let transfer: Transfer
        /// Identifies the request, as the transfer is used again.
        let dialledAt: Int64
        /// When its attempt must have ended.
        let deadline: Int64

        var isWaiting: Bool { transfer.isUnbegun && transfer.dialledAt == dialledAt }
    }

    /// In nanoseconds.
    private static let time: Int64 = 50_000_000
    /// How many are passed in this time. Each costs about as much as a request, and half of the open callbacks may wait for
    /// hosts that stall.
    private static let maxPassed = CurlLibrary.triesAllWaiting ? 0 : 64

    /// The one that was passed first is the first.
    private var entries = FIFO<Entry>()
    /// When `takeDue` has something to do; `max` for never.
    private(set) var nextAt = Int64.max

    /// - Parameters:
    ///   - deadline: nanoseconds of the monotonic clock, as the other times.
    ///   - now: when it was passed to libcurl.
    mutating func insert(_ transfer: Transfer, deadline: Int64, _ now: Int64) {
        entries.append(Entry(transfer: transfer, dialledAt: transfer.dialledAt, deadline: deadline))
        nextAt = min(nextAt, now + Self.time)
    }

    /// Called after the transfers that libcurl has finished were reported.
    /// - Returns: those whose time is over, and some that are passed again: the first ones.
    mutating func takeDue(_ now: Int64) -> [Transfer] {
        // Most begin at once, and need no timer.
        while let first = entries.first, !first.isWaiting { entries.removeFirst() }
        guard !entries.isEmpty else {
            nextAt = .max
            return []
        }
        guard nextAt <= now else { return [] }
        var due: [Transfer] = []
        var rest = FIFO<Entry>()
        for entry in entries where entry.isWaiting {
            if due.count < Self.maxPassed || entry.deadline <= now {
                due.append(entry.transfer)
            } else {
                rest.append(entry)
            }
        }
        entries = rest
        nextAt = rest.isEmpty ? .max : now + Self.time
        return due
    }

    mutating func removeAll() {
        entries = FIFO()
        nextAt = .max
    }
}
