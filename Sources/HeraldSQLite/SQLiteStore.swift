package import HeraldCrypto
package import HeraldModel
import HeraldStore
import Synchronization

/// The event store in one folder, on SQLite.
///
/// One connection performs all writes and checkpoints, in one process, with a lock on the folder: with several, SQLite
/// before 3.51.3 can lose commits (its "WAL-reset bug"). Readers have their own read-only connections.
///
/// Files: `herald.db`, its write-ahead log `herald.db-wal` and index `herald.db-shm` while it is open, and
/// `herald.lock`, which names the process. @unchecked: `writer`, `lock` and `logWatch` belong to the writer's thread, as EventStore
/// requires; all else is immutable or locked.
package final class SQLiteStore: EventStore, @unchecked Sendable {
    /// The maximum sizes of the pages that connections keep in memory, in bytes.
    package struct Caches: Sendable {
        package var writer = 64 << 20
        /// The cache size of each reader.
        package var reader = 4 << 20
        package init() {}
    }

    private let folder: StoreFolder
    private let reserve: UInt64
    private let caches: Caches
    private let extent: LogExtent
    private let columnSealer: ColumnSealer
    private let heads: AttemptHeads
    private let files: OpenFiles
    private var logWatch: LogWatch
    package let damagedEvents = DamagedEvents()
    package let damagedRows = DamagedRows()
    /// `nil` once closed. The lock is released after the connection is closed.
    private(set) var writer: Writer?
    private var lock: LockFile?
    /// Set by a failure after which the state of the files is unknown.
    private let failure = Mutex<StoreError?>(nil)

    /// Opens the database in the folder; creates both if they are missing.
    /// - Parameters:
    ///   - folder: its parent must exist.
    ///   - sealer: seals secrets, extra headers, URLs and remembered responses. The first time it is provided, it seals
    ///     the existing values. A sealed database opens with the same key only; otherwise `StoreError.sealed` is
    ///     thrown.
    ///   - reserve: `health` reports a full disk below this many free bytes, before the disk is actually full.
    package init(
        folder: String, sealer: Sealer? = nil, reserve: UInt64 = 64 << 20, caches: Caches = Caches()
    ) throws(StoreError) {
        let place = try StoreFolder(folder)
        self.folder = place
        self.reserve = reserve
        self.caches = caches
        let lock = try LockFile(place)
        let columnSealer = ColumnSealer(sealer: sealer)
        self.columnSealer = columnSealer
        let extent = try LogExtent(path: place.extent)
        self.extent = extent
        let damagedEvents = self.damagedEvents
        typealias Parts = (AttemptHeads, Writer)
        let (heads, writer) = try SQLiteStore.readingAgain(isStart: true) { () throws(StoreError) -> Parts in
            let connection = try SQLiteStore.open(place, lock, extent, columnSealer, cache: caches.writer)
            return try connection.starting { () throws(StoreError) -> Parts in
                let heads = try AttemptHeads(connection)
                return (heads, try Writer(connection, columnSealer, heads, damagedEvents, extent))
            }
        }
        self.heads = heads
        self.writer = writer
        files = OpenFiles(place)
        logWatch = LogWatch(path: place.log)
        self.lock = lock
    }

    deinit { close() }

    package func recover() throws(StoreError) -> Recovery {
        let writer = try openWriter()
        let recovery = try SQLiteStore.readingAgain(isStart: true) { () throws(StoreError) -> Recovery in
            try writer.connection.starting { () throws(StoreError) -> Recovery in
                try SQLiteStore.recovery(writer.connection, columnSealer, head: writer.last, damagedRows)
            }
        }
        damagedRows.report()
        return recovery
    }

    package func recover(_ shards: Shards, maxRows: Int) throws(StoreError) -> LaneRecovery {
        let writer = try openWriter()
        let lanes = try SQLiteStore.readingAgain(isStart: true) { () throws(StoreError) -> LaneRecovery in
            try writer.connection.starting { () throws(StoreError) -> LaneRecovery in
                try SQLiteStore.lanes(writer.connection, head: writer.last, maxRows: maxRows, damagedRows)
            }
        }.of(shards)
        damagedRows.report()
        // The pages of the delegates are not read again.
        try writer.connection.execute("PRAGMA shrink_memory")
        return lanes
    }

    package func transaction(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        let writer = try openWriter()
        do throws(StoreError) {
            return try SQLiteStore.readingAgain { () throws(StoreError) -> Commit in try run(kind, body, writer) }
        } catch {
            throw remembered(error)
        }
    }

    private func run(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void, _ writer: Writer
    ) throws(StoreError) -> Commit {
        do throws(StoreError) {
            try writer.begin(kind)
            try body(writer)
            return try writer.commit()
        } catch {
            writer.rollback()
            // The next transaction may need the space of the log.
            if error == .full { _ = try? writer.checkpoint(.truncate) }
            throw error
        }
    }

    package func checkpointIfDue(erasing: Bool) throws(StoreError) -> DatabaseCheckpoint {
        do {
            return try openWriter().checkpointIfDue(erasing: erasing)
        } catch {
            if case .syncFailed = remembered(error) { throw error }
            // What was committed is safe in the log; a later checkpoint tries again.
            return .failed(error)
        }
    }

    package func makeReader() throws(StoreError) -> any StoreReader {
        try Reader(path: folder.database, heads, damagedEvents, damagedRows, cache: caches.reader)
    }

    package func health() throws(StoreError) {
        if let failure = failure.withLock({ $0 }) { throw failure }
        try checkPaths()
        if try folder.freeBytes() < reserve { throw .full }
    }

    package func checkFiles() throws(StoreError) {
        try checkPaths()
        guard writer != nil, !logWatch.isWhole(extent.bound) else { return }
        throw remembered(.lost(path: folder.path, file: "herald.db-wal"))
    }

    private func checkPaths() throws(StoreError) {
        do {
            try files.check()
        } catch {
            throw remembered(error)
        }
    }

    package func close() {
        guard writer != nil else { return }
        // Leave the file unchanged after a failed flush, or if it is no longer in the folder.
        if failure.withLock({ $0 }) == nil { prepareToClose() }
        writer = nil
        // A backup of another process has kept the log, and commits may be nowhere else.
        if folder.size(folder.log) ?? 0 > 0 { try? lock?.write(logInUse: true) }
        lock = nil
    }

    /// Closing copies the log into the database and deletes the log, so a missing log is no longer an error. As long as a file says
    /// that it is one, the log stays: without it, the next start would be refused.
    private func prepareToClose() {
        guard (try? extent.withdraw()) != nil, (try? lock?.write(logInUse: false)) != nil else { return }
        try? writer?.connection.checkpointOnClose()
    }

    private func openWriter() throws(StoreError) -> Writer {
        if let failure = failure.withLock({ $0 }) { throw failure }
        guard let writer else { throw .failed(reason: "it is closed") }
        return writer
    }

    private func remembered(_ error: StoreError) -> StoreError {
        switch error {
        case .syncFailed, .corrupt, .lost: failure.withLock { $0 = $0 ?? error }
        default: break
        }
        return error
    }
}
