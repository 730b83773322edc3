package import Delegation
package import HeraldModel
import HeraldRuntime
import Synchronization

/// Whether the storage works, by the results of commits and database checkpoints. Readiness, the log and the metrics
/// all use this state.
///
/// The writer's thread changes it and calls the observers; any thread reads it. The lock is held for a few
/// instructions.
package final class StorageHealth: Sendable {
    /// A part that can fail.
    package enum Part: Sendable {
        /// Nothing can be written: requests that write are refused.
        case commits
        /// Commits succeed, but the write-ahead log can't be copied into the database, and grows.
        case checkpoints
    }

    /// Scheduled backups.
    package struct Backups: Sendable {
        /// Milliseconds between two.
        package let interval: Int64
        /// When the newest one was begun, in milliseconds since 1970 UTC; 0 if there is none.
        package var last: Int64
        /// The number of failed backups since the start.
        package var failures = 0

        package init(interval: Int64, last: Int64) {
            self.interval = interval
            self.last = last
        }
    }

    package enum Change: Sendable {
        /// Reported once for each part until the storage works again.
        case failed(Part, StoreError)
        /// - Parameters:
        ///   - milliseconds: since the first failure.
        ///   - refused: the number of requests that were not carried out.
        case recovered(milliseconds: Int64, refused: Int)
        /// The open files are no longer in the folder. Nothing more is written; this is the last change.
        case lost(StoreError)
        /// A request has read a row that can't be read. The storage works. Reported once a minute at most, on any thread.
        case unreadable(StoreError)
        /// A request met a page that can't be read, or the server itself could not read, such as for deliveries that are behind or
        /// for retention. It reads again. Commits may succeed. Reported once a minute at most, on any thread.
        case unread(StoreError)
        /// The store refuses to read what other processes have committed, or to assign delegates. This process does not deliver it.
        /// Reported once a minute at most; of a store that does not respond, after some seconds.
        case unfollowed(StoreError)
        /// An empty part of the database can't be dropped. It is tried again each minute, and reported after an hour, each hour.
        case kept(StoreError)
        /// The size of the log removes events before their age, and the log has events of several apps. Reported once a day at
        /// most, on a reader's thread.
        /// - Parameters:
        ///   - app: the app that stores most.
        ///   - bytes: the bytes of its events.
        ///   - total: the bytes of the events of all apps.
        case crowded(App, bytes: Int64, total: Int64)
    }

    private struct Outage {
        /// Monotonic nanoseconds.
        let start: Int64
        var refused = 0
        /// The parts whose failure is reported.
        var reported: Set<Part> = []
    }

    private struct State {
        var commitFailure, checkpointFailure, followFailure, loss: StoreError?
        var outage: Outage?
        /// The time of the last transaction, successful or not, in monotonic nanoseconds.
        var lastAttempt: Int64 = 0
        var lastCommit: Int64 = 0
        var lastCheckpoint: Int64 = 0
        var failedCheckpoints = 0
        var failedDrops = 0
        var failedReads = 0
        var backups: Backups?
        /// When the next row that can't be read is reported, in monotonic nanoseconds.
        var nextUnreadable: Int64 = .min
        /// When the next read that failed for another reason is reported, in monotonic nanoseconds.
        var nextUnread: Int64 = .min
        /// When the next refusal to read what others have committed is reported, in monotonic nanoseconds.
        var nextUnfollowed: Int64 = .min
        /// When the next app that stores most is reported, in monotonic nanoseconds.
        var nextCrowded: Int64 = .min
        /// The first and the last of several failures, each soon after the one before, in monotonic nanoseconds. One part may fail
        /// while another succeeds, so a success ends nothing.
        var silence: ClosedRange<Int64>?

        /// The store has not responded to what this process shares with others.
        /// - Returns: whether this has lasted for some seconds.
        mutating func isSilent(at now: Int64) -> Bool {
            var first = now
            if let silence, now - silence.upperBound <= StorageHealth.maxSilenceGap { first = silence.lowerBound }
            silence = first...max(first, now)
            return now - first >= StorageHealth.reportedSilence
        }

        /// Begins an outage, or continues it.
        /// - Returns: whether the failure of this part is new in it.
        mutating func fails(_ part: Part, refused: Int = 0, at now: Int64) -> Bool {
            var current = outage ?? Outage(start: now)
            defer { outage = current }
            current.refused += refused
            return current.reported.insert(part).inserted
        }
    }

    private let state = Mutex(State())
    /// When the round of the writer began, in nanoseconds of the machine's clock. A round takes longer than some seconds only
    /// while the store, or a delegate in the process, does not return from a call. `.max` before the first one.
    private let round = Atomic<Int64>(.max)
    package let observers = MulticastDelegate<any StorageObserver>()
    /// Nanoseconds between two probes while the storage fails and no request writes.
    static let probeInterval: Int64 = 1_000_000_000
    /// Nanoseconds between two reports of rows that can't be read, and between two of reads that are refused.
    static let unreadableInterval: Int64 = 60_000_000_000
    /// Nanoseconds between two reports of the app that stores most.
    static let crowdedInterval: Int64 = 86_400_000_000_000
    /// The tries to drop a part of the database of which one is reported: those of an hour.
    static let reportedDrops = 60
    /// Nanoseconds of a round of the writer beyond which the storage does not work.
    static let longestRound: Int64 = 30_000_000_000

    /// Nanoseconds for which the store may not respond before the reason is reported. A short loss is the session's.
    static let reportedSilence: Int64 = 5_000_000_000
    /// Nanoseconds between two failures of one silence. A query waits 30 s for its response.
    static let maxSilenceGap: Int64 = 35_000_000_000

    // MARK: Any thread

    /// - Throws: why the storage does not work.
    package func check() throws(StoreError) { try check(at: Clock.system.monotonic()) }

    /// - Parameter now: nanoseconds of the machine's clock.
    func check(at now: Int64) throws(StoreError) {
        let failure = state.withLock { $0.loss ?? $0.commitFailure ?? $0.checkpointFailure ?? $0.followFailure }
        if let failure { throw failure }
        // A disk that hangs fails nothing.
        if now - round.load(ordering: .relaxed) > Self.longestRound {
            throw .unavailable(reason: "it has not responded for \(Self.longestRound / 1_000_000_000) seconds")
        }
    }

    /// Whether nothing that is written has failed.
    var canWrite: Bool {
        state.withLock { $0.loss == nil && $0.commitFailure == nil && $0.checkpointFailure == nil }
    }

    /// The time of the last commit, in milliseconds since 1970 UTC; 0 if there was none since the start.
    package var lastCommit: Int64 { state.withLock { $0.lastCommit } }

    /// The time of the last complete copy of the write-ahead log into the database, in milliseconds since 1970 UTC; 0 if
    /// there was none since the start.
    package var lastCheckpoint: Int64 { state.withLock { $0.lastCheckpoint } }

    /// `nil` if no backups are scheduled.
    package var backups: Backups? { state.withLock { $0.backups } }

    /// Changes the record of scheduled backups. The thread of the backups.
    package func backups(_ change: (inout Backups?) -> Void) { state.withLock { change(&$0.backups) } }

    /// The number of failed checkpoints of the write-ahead log since the start.
    package var failedCheckpoints: Int { state.withLock { $0.failedCheckpoints } }

    /// The number of failed tries since the start to drop an empty part of the database.
    package var failedDrops: Int { state.withLock { $0.failedDrops } }

    /// The number of reads since the start that failed, other than of a store that did not respond.
    package var failedReads: Int { state.withLock { $0.failedReads } }

    /// Call it when a request has failed. Reports a row or a page that can't be read. Ignores all other errors: they concern one
    /// request, or commits meet them, too.
    /// - Parameter now: monotonic nanoseconds.
    package func requestFailed(_ error: StoreError, at now: Int64) {
        switch error {
        case .unreadable, .corrupt, .inputOutput: readFailed(error, at: now)
        default: break
        }
    }

    /// Call it when the server itself could not read. It reads again, but the reason may stay. Ignores a store that does not
    /// respond, or is not the one that was opened: the writer finds that, too.
    /// - Parameter now: monotonic nanoseconds.
    func readFailed(_ error: StoreError, at now: Int64) {
        switch error {
        case .unavailable, .lost, .replaced: return
        default: state.withLock { $0.failedReads += 1 }
        }
        if case .unreadable = error {
            report(.unreadable(error), \.nextUnreadable, at: now)
        } else {
            report(.unread(error), \.nextUnread, at: now)
        }
    }

    /// Call it when the size of the log removes events before their age. One thread at a time.
    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - largest: called when a report is due; returns the values of `Change.crowded`, or `nil` for no report.
    func crowded(at now: Int64, _ largest: () -> (app: App, bytes: Int64, total: Int64)?) {
        guard state.withLock({ now >= $0.nextCrowded }), let (app, bytes, total) = largest() else { return }
        state.withLock { $0.nextCrowded = now + Self.crowdedInterval }
        notify(.crowded(app, bytes: bytes, total: total))
    }

    /// Reports a change, once a minute at most.
    /// - Parameter next: when the next one is reported.
    private func report(_ change: Change, _ next: WritableKeyPath<State, Int64>, at now: Int64) {
        let isDue = state.withLock { state in
            guard now >= state[keyPath: next] else { return false }
            state[keyPath: next] = now + Self.unreadableInterval
            return true
        }
        if isDue { notify(change) }
    }

    private func notify(_ change: Change) { observers.invokeDelegates { $0.storageChanged(change) } }

    // MARK: The writer's thread

    /// Call it at the beginning of each round.
    /// - Parameter now: nanoseconds of the machine's clock.
    func roundBegins(at now: Int64) { round.store(now, ordering: .relaxed) }

    /// Call it after a transaction was committed.
    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - hasRoom: called before a recovery is reported, since small commits occasionally succeed on a full disk.
    func committed(at now: Int64, wall: Int64, hasRoom: () -> Bool) {
        state.withLock { state in
            state.lastAttempt = now
            state.lastCommit = wall
            state.commitFailure = nil
        }
        recover(at: now, hasRoom)
    }

    /// Call it after the database checkpoint that followed a commit. Parameters as above.
    func copied(_ checkpoint: DatabaseCheckpoint, at now: Int64, wall: Int64, hasRoom: () -> Bool) {
        switch checkpoint {
        case .notDue, .heldBack: break
        case .done:
            state.withLock { state in
                state.checkpointFailure = nil
                state.lastCheckpoint = wall
            }
            recover(at: now, hasRoom)
        case .failed(let error):
            let isNew = state.withLock { state in
                state.failedCheckpoints += 1
                state.checkpointFailure = error
                return state.fails(.checkpoints, at: now)
            }
            if isNew { notify(.failed(.checkpoints, error)) }
        case .kept(let error, let tries):
            state.withLock { $0.failedDrops += 1 }
            if tries.isMultiple(of: Self.reportedDrops) { notify(.kept(error)) }
        }
    }

    /// Call it when what other processes have committed could not be read. It is read again, but the reason may stay. A store that
    /// does not respond makes the process not ready by `Freshness`.
    /// - Parameter now: monotonic nanoseconds.
    func followFailed(_ error: StoreError, at now: Int64) {
        switch error {
        case .unavailable: return unresponsive(error, at: now)
        case .unreadable: return requestFailed(error, at: now)
        default: break
        }
        state.withLock { $0.followFailure = error }
        report(.unfollowed(error), \.nextUnfollowed, at: now)
    }

    /// Call it when delegates could not be acquired from other processes, or released to them. It is tried again each second, but
    /// the reason may stay. Ignores errors that other parts report, or that the next try may settle.
    /// - Parameter now: monotonic nanoseconds.
    func sharingFailed(_ error: StoreError, at now: Int64) {
        switch error {
        case .unavailable: unresponsive(error, at: now)
        case .unknown, .outdated, .replaced: break
        case .unreadable: requestFailed(error, at: now)
        default: report(.unfollowed(error), \.nextUnfollowed, at: now)
        }
    }

    /// A failure of commits says the reason. Without one nothing else does, such as of a lock that another session holds.
    private func unresponsive(_ error: StoreError, at now: Int64) {
        let isNews = state.withLock { $0.isSilent(at: now) && $0.outage == nil }
        if isNews { report(.unfollowed(error), \.nextUnfollowed, at: now) }
    }

    /// Call it when all that is known to be committed was read.
    func followed() { state.withLock { $0.followFailure = nil } }

    /// Ends the outage if neither commits nor checkpoints fail.
    private func recover(at now: Int64, _ hasRoom: () -> Bool) {
        let mayRecover = state.withLock { $0.outage != nil && $0.commitFailure == nil && $0.checkpointFailure == nil }
        guard mayRecover, hasRoom(), let outage = state.withLock({ $0.outage.take() }) else { return }
        notify(.recovered(milliseconds: (now - outage.start) / 1_000_000, refused: outage.refused))
    }

    /// Call it after a transaction failed.
    /// - Parameters:
    ///   - refused: the number of requests in it.
    ///   - now: monotonic nanoseconds.
    func failed(_ error: StoreError, refused: Int, at now: Int64) {
        let isNew = state.withLock { state in
            state.lastAttempt = now
            state.commitFailure = error
            return state.fails(.commits, refused: refused, at: now) && state.loss == nil
        }
        if isNew { notify(.failed(.commits, error)) }
    }

    /// Call it when the open files are no longer in the folder.
    func lost(_ error: StoreError) {
        let isNew = state.withLock { state in
            defer { state.loss = state.loss ?? error }
            return state.loss == nil
        }
        if isNew { notify(.lost(error)) }
    }

    /// Whether a probe of the storage is due.
    func needsProbe(at now: Int64) -> Bool {
        state.withLock { $0.outage != nil && $0.loss == nil && now - $0.lastAttempt >= Self.probeInterval }
    }
}

/// Called when the storage begins to fail, when it works again, and when an app fills it.
package protocol StorageObserver: AnyObject, Sendable {
    /// The writer's thread, for `unreadable` and `unread` any thread, for `crowded` a reader's thread; must not wait.
    func storageChanged(_ change: StorageHealth.Change)
}
