import HeraldModel
import HeraldRuntime

/// The cluster of a store that several processes have open: it reads what the others commit, adds what this process changes to the
/// list of changes, and shares the delegates with them.
final class SharedStore: Cluster {
    let interval: Int32 = 250

    private let freshness: Freshness
    private let clock: Clock
    private var changes: ChangeFollower
    /// `nil` if this process has all delegates.
    private var shards: ShardManager?
    /// When changes are read without a request, in monotonic nanoseconds.
    var nextFollow: Int64 = 0
    private var foundSubmissions = false

    /// - Parameter lastChange: the last change that memory includes.
    init(after lastChange: Int64, shards: ShardManager?, freshness: Freshness, clock: Clock) {
        changes = ChangeFollower(known: lastChange)
        self.shards = shards
        self.freshness = freshness
        self.clock = clock
    }

    var runsMaintenance: Bool { shards?.runsMaintenance ?? true }
    var lastChange: Int64 { changes.known }

    func beforeRound(
        isRequested: Bool, isAwaited: Bool, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> LogPosition? {
        let now = clock.monotonic()
        let isDue = now >= nextFollow
        guard isRequested || isDue else { return nil }
        // Notifications cover most changes. The store is read in full periodically and for waiting requests.
        let isFresh = isDue || isAwaited
        if isFresh { nextFollow = now + Int64(interval) * 1_000_000 }
        let ends = try reader.get().ends(isFresh: isFresh)
        foundSubmissions = foundSubmissions || ends.hasSubmissions
        if ends.change > changes.known {
            // A delegate is known before the events that it is to get, which saves it reading them.
            _ = try follow(reader, apply: apply)
        } else if isFresh {
            freshness.confirm(now)
        }
        return ends.event
    }

    func beforeDeciding(
        lookingFor name: Int64?, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> Bool { try follow(reader, lookingFor: name, apply: apply) }

    private func follow(
        _ reader: LazyReader, lookingFor name: Int64? = nil, apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> Bool {
        let started = clock.monotonic()
        var follower = changes
        defer { changes = follower }
        let hasFound = try follower.follow(reader.get(), lookingFor: name, apply: apply)
        freshness.confirm(started)
        return hasFound
    }

    func record(
        _ effects: [WriteEffect], _ transaction: any StoreTransaction
    ) throws(StoreError) -> (head: LogPosition, name: Int64)? {
        let head = try transaction.head
        let name = Int64.random(in: .min ... .max)
        try transaction.record(effects.flatMap(\.changes), name: name)
        return (head, name)
    }

    func hasFoundSubmissions() -> Bool {
        defer { foundSubmissions = false }
        return foundSubmissions
    }

    func hasDecided() { changes.committed() }

    func uncounted(
        _ filled: Range<Int64>, _ transaction: any StoreTransaction
    ) throws(StoreError) -> Range<Int64> {
        let open = try transaction.firstOpenBlock()
        return min(max(filled.lowerBound, open), filled.upperBound)..<filled.upperBound
    }

    func shareDelegates() throws(StoreError) {
        guard freshness.isCurrent else { return }
        do throws(StoreError) {
            try shards?.update()
        } catch {
            if case .unavailable = error { sessionIsLost() }
            throw error
        }
    }

    func owns(_ delegate: DelegateKey) -> Bool { shards?.owns(delegate) ?? true }

    func own(_ checkpoint: Checkpoint, after effects: [WriteEffect]) -> Checkpoint {
        shards?.own(checkpoint) ?? checkpoint
    }

    func sessionIsLost() { shards?.sessionIsLost() }
}
