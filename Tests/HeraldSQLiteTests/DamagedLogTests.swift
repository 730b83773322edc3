import Glibc
import HeraldModel
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("Damage in the write-ahead log")
struct DamagedLogTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var copy: String { folder.path + "/copy" }
    private var log: String { copy + "/herald.db-wal" }
    private var extent: String { copy + "/herald.extent" }

    /// As after `kill -9`: each event has a transaction of its own.
    private func makeCrash(_ count: Int = 12) throws {
        let store = try SQLiteStore(folder: path)
        for number in 1...count {
            try store.transaction { (transaction) throws(StoreError) in
                try transaction.append(
                    Event(id: "e\(number)", data: "\"" + String(repeating: "x", count: 6000) + "\""))
            }
        }
        copyAsAfterKill(path, to: copy)
        store.close()
    }

    /// How many events a start finds; `nil`: it is refused, and nothing was touched.
    private func start(sourceLocation: SourceLocation = #_sourceLocation) throws -> Int? {
        let before = (bytes(copy + "/herald.db"), bytes(log), bytes(extent))
        var found: Int?
        let error = failure {
            let store = try SQLiteStore(folder: copy)
            defer { store.close() }
            let batch = try store.makeReader().events(after: 0, limit: 999, maxBytes: 1 << 30)
            found = batch.events.count { !$0.isDamaged }
        }
        guard case .logDamaged? = error else {
            return Optional(try #require(found, "\(String(describing: error))"))
        }
        #expect(bytes(copy + "/herald.db") == before.0, sourceLocation: sourceLocation)
        #expect(bytes(log) == before.1, sourceLocation: sourceLocation)
        #expect(before.2 == nil || bytes(extent) == before.2, sourceLocation: sourceLocation)
        return nil
    }

    private let frame = 4096 + 24

    @Test("a log that is whole is read after a crash, with and without its extent")
    func whole() throws {
        try makeCrash()
        let saved = bytes(log)
        unlink(extent)
        #expect(try start() == 12)
        #expect(saved != nil)
    }

    @Test("a close that cannot note the end of the log keeps the log, and the next start has all events")
    func closedWithErrors() throws {
        let store = try SQLiteStore(folder: copy)
        try store.transaction { (transaction) throws(StoreError) in try transaction.append(Event(id: "e1")) }
        try refuseWrites(to: copy + "/herald.lock")
        store.close()
        #expect(bytes(copy + "/herald.lock") == Array("\(getpid())\nlog in use\n".utf8))
        #expect(try start() == 1)
        #expect(bytes(copy + "/herald.lock") == Array("\(getpid())\n".utf8))
    }

    @Test("a log that was cut to nothing, cut short, removed or replaced is refused", arguments: 0..<4)
    func lost(kind: Int) throws {
        try makeCrash()
        let whole = try #require(bytes(log))
        switch kind {
        case 0: write([], to: log)
        case 1: write(Array(whole[..<(32 + frame * 9)]), to: log)
        case 2:
            unlink(log)
            unlink(copy + "/herald.lock")
        default:
            var other = whole
            other[20] ^= 1
            write(other, to: log)
        }
        #expect(try start() == nil)
    }

    @Test("a torn end is no damage, wherever it is torn")
    func tornEnd() throws {
        try makeCrash(3)
        let whole = try #require(bytes(log))
        let database = try #require(bytes(copy + "/herald.db"))
        var last = 3
        for length in stride(from: whole.count, through: 0, by: -1777) {
            // What a power cut leaves: of the extent, nothing was flushed.
            for suffix in ["", "-wal", "-shm"] { unlink(copy + "/herald.db" + suffix) }
            unlink(extent)
            unlink(copy + "/herald.lock")
            write(database, to: copy + "/herald.db")
            write(Array(whole[..<length]), to: log)
            let found = try #require(try start(), "\(length)")
            #expect(found <= last)
            last = found
        }
        #expect(last == 0)
    }

    @Test("pages of the last transaction that were written out of order are no damage; a page before it is")
    func lostSector() throws {
        try makeCrash()
        unlink(extent)
        var bytesOfLog = try #require(bytes(log))
        let commits = (0..<(bytesOfLog.count - 32) / frame).filter { number in
            let start = 32 + number * frame + 4
            return bytesOfLog[start..<start + 4].contains { $0 != 0 }
        }
        let whole = bytesOfLog
        let database = bytes(copy + "/herald.db")
        // The first page of the last transaction never reached the disk.
        let first = try #require(commits.dropLast().last) + 1
        for place in 32 + first * frame..<32 + (first + 1) * frame { bytesOfLog[place] = 0 }
        write(bytesOfLog, to: log)
        #expect(try start() == 11)
        // The one before it was flushed.
        for suffix in ["-wal", "-shm"] { unlink(copy + "/herald.db" + suffix) }
        write(try #require(database), to: copy + "/herald.db")
        unlink(copy + "/herald.lock")
        unlink(extent)
        var damaged = whole
        damaged[32 + (first - 1) * frame + 1000] ^= 4
        write(damaged, to: log)
        #expect(try start() == nil)
    }

    @Test("50 flipped bits in a log: every loss of an acknowledged event is reported", arguments: 0..<50)
    func flippedBits(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try makeCrash()
        var all = try #require(bytes(log))
        all[Int.random(in: 0..<all.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        write(all, to: log)
        let found = try start()
        #expect(found == nil || found == 12)
    }

    @Test("every moment is one that a kill may leave: through checkpoints, erasures and long transactions")
    func everyMoment() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        var count = 0
        var generations: Set<UInt64> = []
        for round in 1...24 {
            let size = round.isMultiple(of: 5) ? 2_000_000 : round.isMultiple(of: 3) ? 700_000 : 3000
            try store.commit { (transaction) throws(StoreError) in
                try transaction.append(
                    Event(id: "e\(round)", data: "\"" + String(repeating: "x", count: size) + "\""))
            }
            count += 1
            if round.isMultiple(of: 7) {
                try store.commit { (transaction) throws(StoreError) in _ = try transaction.erase([1]) }
            }
            rename(copy, folder.path + "/old-\(round)")
            copyAsAfterKill(path, to: copy)
            generations.insert(LogExtent.bound(path: extent).salts)
            #expect(try start() == count, "after \(round)")
        }
        #expect(generations.count >= 3)
    }

    @Test("a migration into the folder of another server is refused, and its next start still finds what is missing")
    func refusedMove() throws {
        try makeCrash()
        let other = folder.path + "/other"
        try SQLiteStore(folder: other).close()
        let whole = try #require(bytes(log))
        write(Array(whole[..<(whole.count - frame)]), to: log)
        #expect(throws: MaintenanceError.self) {
            _ = try Move(from: SQLiteMoveEnd(source: other), to: SQLiteMoveEnd(target: copy))
        }
        #expect(LogExtent.bound(path: extent).pages > 0)
        #expect(try start() == nil)
    }

    @Test("a clean end leaves nothing to miss")
    func cleanEnd() throws {
        let store = try SQLiteStore(folder: path)
        try store.commit { (transaction) throws(StoreError) in try transaction.append(Event(id: "a")) }
        #expect(LogExtent.bound(path: path + "/herald.extent").pages > 0)
        store.close()
        #expect(LogExtent.bound(path: path + "/herald.extent") == .none)
        #expect(permissions(path + "/herald.extent") == 0o600)
        try SQLiteStore(folder: path).close()
    }
}
