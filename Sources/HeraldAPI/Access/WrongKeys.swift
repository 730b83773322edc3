package import HeraldHTTP
import Synchronization

/// Counts invalid keys and links by client address, reports each address once a minute, and delays responses from the
/// eleventh on.
///
/// Only responses to invalid keys are delayed, so other clients behind the same proxy are not affected. Any thread; the
/// lock is held for a few instructions, and never while reporting.
package final class WrongKeys: Sendable {
    /// The invalid keys of an address.
    package struct Report: Sendable {
        /// `nil` for all addresses beyond those that are counted separately.
        package let address: PeerAddress?
        /// Since the previous report, including this one.
        package let count: Int
    }

    /// One address in one window.
    fileprivate struct Entry {
        /// The start of the window, in monotonic nanoseconds.
        var start: Int64
        /// In this window.
        var count = 0
        var unreported = 0
    }

    fileprivate struct Entries {
        var byClient: [PeerAddress: Entry] = [:]
        /// All addresses without an entry of their own.
        var others: Entry?
        /// No window ends before this time.
        var nextEnd: Int64 = .min
    }

    /// Invalid keys of a window whose response is not delayed.
    static let promptResponses = 10
    static let holdMilliseconds = 1_000
    /// Nanoseconds.
    static let window: Int64 = 60_000_000_000
    /// Addresses that are counted separately, each about 100 bytes.
    static let maxAddresses = 4_096

    private let report: @Sendable (Report) -> Void
    private let entries = Mutex(Entries())
    private let total = Atomic<Int>(0)

    init(report: @escaping @Sendable (Report) -> Void = { _ in }) {
        self.report = report
    }

    /// Since the start of the process.
    var count: Int { total.load(ordering: .relaxed) }

    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: the delay of the response, in milliseconds.
    func record(_ peer: PeerAddress, now: Int64) -> Int {
        total.add(1, ordering: .relaxed)
        let client = peer.client
        let (due, hold) = entries.withLock { entries in
            if entries.byClient[client] == nil { entries.makeRoom(now: now) }
            if entries.byClient[client] != nil || entries.byClient.count < Self.maxAddresses {
                let (count, hold) = entries.byClient[client, default: Entry(start: .min)].add(now: now)
                entries.nextEnd = min(entries.nextEnd, now + Self.window)
                return (count.map { Report(address: client, count: $0) }, hold)
            }
            var others = entries.others ?? Entry(start: .min)
            let (count, hold) = others.add(now: now)
            entries.others = others
            return (count.map { Report(address: nil, count: $0) }, hold)
        }
        if let due { report(due) }
        return hold
    }
}

extension WrongKeys.Entry {
    func hasEnded(at now: Int64) -> Bool { start == .min || now - start >= WrongKeys.window }

    /// - Returns: the number to report when a window starts, and the delay of the response.
    fileprivate mutating func add(now: Int64) -> (report: Int?, hold: Int) {
        let isNew = hasEnded(at: now)
        if isNew { (start, count) = (now, 0) }
        count += 1
        unreported += 1
        defer { if isNew { unreported = 0 } }
        return (isNew ? unreported : nil, count > WrongKeys.promptResponses ? WrongKeys.holdMilliseconds : 0)
    }
}

extension WrongKeys.Entries {
    /// Removes entries whose window has ended, if the table is full. Scans it only if there may be one.
    fileprivate mutating func makeRoom(now: Int64) {
        guard byClient.count >= WrongKeys.maxAddresses, now >= nextEnd else { return }
        byClient = byClient.filter { !$0.value.hasEnded(at: now) }
        nextEnd = byClient.values.map { $0.start + WrongKeys.window }.min() ?? .max
    }
}
