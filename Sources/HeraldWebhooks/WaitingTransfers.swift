import HeraldRuntime

/// The transfers of HTTP/2 that may wait within libcurl for a connection.
///
/// When a connection changes, libcurl 7.88 tries one of those that wait, for any host, and it does not end those whose
/// time is over. So hosts that do not continue their TLS handshakes would delay all others. The sender passes these
/// transfers to libcurl again, which then tries each. A value without I/O.
struct WaitingTransfers {
    private struct Entry {
        let transfer: Transfer
        /// Identifies the request, as the transfer is used again.
        let dialledAt: Int64
        let passedAt: Int64
    }

    /// In nanoseconds.
    private static let time: Int64 = 50_000_000

    /// Oldest first.
    private var entries = FIFO<Entry>()

    /// - Parameter now: when it was passed to libcurl: nanoseconds of the monotonic clock, as the other times.
    mutating func insert(_ transfer: Transfer, _ now: Int64) {
        entries.append(Entry(transfer: transfer, dialledAt: transfer.dialledAt, passedAt: now))
    }

    /// When `takeDue` has something to do; `max` for never.
    var nextAt: Int64 { entries.first.map { $0.passedAt + Self.time } ?? .max }

    /// Removes those that were passed some time ago.
    /// - Returns: those that libcurl has not begun. Called after those that libcurl has finished were reported.
    mutating func takeDue(_ now: Int64) -> [Transfer] {
        var due: [Transfer] = []
        while nextAt <= now, let entry = entries.popFirst() {
            if entry.transfer.isUnbegun, entry.transfer.dialledAt == entry.dialledAt { due.append(entry.transfer) }
        }
        return due
    }

    mutating func removeAll() { entries = FIFO() }
}
