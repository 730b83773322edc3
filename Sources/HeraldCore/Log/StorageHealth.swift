package import Delegation
import Synchronization

/// Whether the storage works, by what commits and database checkpoints did: for readiness, the log and the metrics. The one
/// place that knows.
///
/// The writer's thread changes it and calls the observers; any thread reads. The lock is held for a few instructions.
package final class StorageHealth: Sendable {
    /// What can fail.
    package enum Part: Sendable {
        /// Nothing can be written: requests that write are refused.
        case commits
        /// Commits succeed, but the write-ahead log can't be copied into the database, and grows.
        case checkpoints
    }

    package enum Change: Sendable {
        /// Told once for each part until the storage works again.
        case failed(Part, StoreError)
        /// - Parameters:
        ///   - milliseconds: since the first failure.
        ///   - refused: requests that were not carried out.
        case recovered(milliseconds: Int64, refused: Int)
        /// The open files are no longer those of the folder. Nothing is written any more; the last change.
        case lost(StoreError)
    }

    private struct Outage {
        /// Monotonic nanoseconds.
        let start: Int64
        var refused = 0
        var reportsCommits = false
        var reportsCheckpoints = false
    }

    private struct State {
        var commitFailure, checkpointFailure, loss: StoreError?
        var outage: Outage?
        /// The last transaction, however it ended; monotonic nanoseconds.
        var lastAttempt: Int64 = 0
        var lastCommit: Int64 = 0
        var failedCheckpoints = 0
    }

    private let state = Mutex(State())
    package let observers = MulticastDelegate<any StorageObserver>()
    /// Nanoseconds between two attempts to write while the storage fails and nobody writes.
    static let probeInterval: Int64 = 1_000_000_000

    // MARK: Any thread

    /// - Throws: why the storage doesn't work.
    package func check() throws(StoreError) {
        let failure = state.withLock { $0.loss ?? $0.commitFailure ?? $0.checkpointFailure }
        if let failure { throw failure }
    }

    /// When a transaction was last committed, in milliseconds since 1970 UTC; 0: none was since the start.
    package var lastCommit: Int64 { state.withLock { $0.lastCommit } }

    /// How often the write-ahead log could not be copied into the database, since the start.
    package var failedCheckpoints: Int { state.withLock { $0.failedCheckpoints } }

    // MARK: The writer's thread

    /// A transaction was committed.
    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - hasRoom: asked before the storage is said to work again. On a full disk small commits still succeed now and then.
    func committed(_ checkpoint: DatabaseCheckpoint, at now: Int64, wall: Int64, hasRoom: () -> Bool) {
        let (failure, mayRecover) = state.withLock { state -> (StoreError?, Bool) in
            state.lastAttempt = now
            state.lastCommit = wall
            state.commitFailure = nil
            switch checkpoint {
            case .notDue, .heldBack: break
            case .done: state.checkpointFailure = nil
            case .failed(let error):
                state.failedCheckpoints += 1
                state.checkpointFailure = error
                var outage = state.outage ?? Outage(start: now)
                defer { state.outage = outage }
                if outage.reportsCheckpoints { break }
                outage.reportsCheckpoints = true
                return (error, false)
            }
            return (nil, state.outage != nil && state.checkpointFailure == nil)
        }
        if let failure { observers.invokeDelegates { $0.storageChanged(.failed(.checkpoints, failure)) } }
        guard mayRecover, hasRoom(), let outage = state.withLock({ $0.outage.take() }) else { return }
        let duration = (now - outage.start) / 1_000_000
        observers.invokeDelegates { $0.storageChanged(.recovered(milliseconds: duration, refused: outage.refused)) }
    }

    /// A transaction failed.
    /// - Parameters:
    ///   - refused: requests that were in it.
    ///   - now: monotonic nanoseconds.
    func failed(_ error: StoreError, refused: Int, at now: Int64) {
        let isNew = state.withLock { state in
            state.lastAttempt = now
            state.commitFailure = error
            var outage = state.outage ?? Outage(start: now)
            outage.refused += refused
            defer { state.outage = outage }
            if outage.reportsCommits || state.loss != nil { return false }
            outage.reportsCommits = true
            return true
        }
        if isNew { observers.invokeDelegates { $0.storageChanged(.failed(.commits, error)) } }
    }

    /// The open files are no longer those of the folder.
    func lost(_ error: StoreError) {
        let isNew = state.withLock { state in
            defer { state.loss = state.loss ?? error }
            return state.loss == nil
        }
        if isNew { observers.invokeDelegates { $0.storageChanged(.lost(error)) } }
    }

    /// Whether an attempt to write is due that finds out whether the storage works again.
    func needsProbe(at now: Int64) -> Bool {
        state.withLock { $0.outage != nil && $0.loss == nil && now - $0.lastAttempt >= Self.probeInterval }
    }
}

/// Is called when the storage begins to fail, and when it works again.
package protocol StorageObserver: AnyObject, Sendable {
    /// The writer's thread; must not wait.
    func storageChanged(_ change: StorageHealth.Change)
}
