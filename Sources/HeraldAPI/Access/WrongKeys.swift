public import HeraldHTTP
import Synchronization

/// Counts the keys and links that let nobody in, by the address they come from: reports each address once a minute, and has
/// answers held back from the eleventh on.
///
/// Only the answers to wrong keys are: others behind the same proxy notice nothing. Any thread; the lock is held for a few
/// instructions, and never while reporting.
public final class WrongKeys: Sendable {
    /// What an address has done.
    public struct Report: Sendable {
        /// `nil`: one of many, past those that are counted apart.
        public let address: PeerAddress?
        /// Since the report before, this one included.
        public let count: Int
    }

    /// Of an address in one window.
    fileprivate struct Entry {
        /// Nanoseconds, monotonic: when the window began.
        var start: Int64
        /// In this window.
        var count = 0
        var unreported = 0
    }

    fileprivate struct Entries {
        var byClient: [PeerAddress: Entry] = [:]
        /// All that came when there was no room for another address.
        var others: Entry?
        /// No window ends before this.
        var nextEnd: Int64 = .min
    }

    /// Wrong keys of a window that are answered at once.
    static let patience = 10
    static let holdMilliseconds = 1_000
    /// Nanoseconds.
    static let window: Int64 = 60_000_000_000
    /// That are counted apart, each some 100 bytes.
    static let maxAddresses = 4_096

    private let report: @Sendable (Report) -> Void
    private let entries = Mutex(Entries())
    private let total = Atomic<Int>(0)

    init(report: @escaping @Sendable (Report) -> Void = { _ in }) {
        self.report = report
    }

    /// Since the process began.
    var count: Int { total.load(ordering: .relaxed) }

    /// - Parameter now: nanoseconds, monotonic.
    /// - Returns: milliseconds that the answer is to be held back.
    func note(_ peer: PeerAddress, now: Int64) -> Int {
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

    /// - Returns: what is to be reported, when a window begins; and how long the answer is to be held back.
    fileprivate mutating func add(now: Int64) -> (report: Int?, hold: Int) {
        let isNew = hasEnded(at: now)
        if isNew { (start, count) = (now, 0) }
        count += 1
        unreported += 1
        defer { if isNew { unreported = 0 } }
        return (isNew ? unreported : nil, count > WrongKeys.patience ? WrongKeys.holdMilliseconds : 0)
    }
}

extension WrongKeys.Entries {
    /// Forgets those whose window has ended, if there is no room for another one. Looks at all of them only when one may have.
    fileprivate mutating func makeRoom(now: Int64) {
        guard byClient.count >= WrongKeys.maxAddresses, now >= nextEnd else { return }
        byClient = byClient.filter { !$0.value.hasEnded(at: now) }
        nextEnd = byClient.values.map { $0.start + WrongKeys.window }.min() ?? .max
    }
}
