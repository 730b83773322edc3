import Glibc
import HeraldModel
import HeraldRuntime
import HeraldStore
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldSQLite

@Suite("Backup, check and salvage")
struct MaintenanceTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }
    private var backup: String { folder.path + "/a.backup" }

    /// With a bit of everything that a database holds.
    private func fill(_ store: SQLiteStore, _ ids: ClosedRange<Int>) throws {
        try store.transaction { (transaction) throws(StoreError) in
            for number in ids {
                let data = "{\"text\": \"" + String(repeating: "x", count: number * 13 % 900) + "\"}"
                try transaction.append(
                    Event(id: "e\(number)", subject: "s\(number % 3)", time: Int64(number), data: data))
            }
        }
    }

    private func makeDatabase(_ count: Int = 80) throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try store.transaction { (transaction) throws(StoreError) in
            for key: DelegateKey in 1...3 { try transaction.setDelegate(WebhookDelegate(key)) }
        }
        try fill(store, 1...count)
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.attempts = [attempt(1, 5, status: 500), attempt(2, 6)]
            checkpoint.waiting = [
                WaitingDelivery(
                    delegate: 1, event: 5, attempts: 1, dueAt: 99, state: .retrying, isReplay: false, subject: "s2")
            ]
            checkpoint.lanes = [LanePosition(delegate: 3, cursor: 2, position: 4)]
            checkpoint.settled = 7
            try transaction.write(checkpoint)
        }
    }

    private struct Content: Equatable {
        var bodies: [String: [UInt8]] = [:]
        var delegates: [DelegateKey] = []
        var waiting: [LogPosition] = []
        var lanes: [DelegateKey] = []
        var settled: LogPosition = 0
        var damaged: [LogPosition] = []
    }

    private func content(_ folder: String) throws -> Content {
        let store = try SQLiteStore(folder: folder)
        defer { store.close() }
        let recovery = try store.found()
        var content = Content()
        let batch = try store.makeReader().events(after: 0, limit: 9999, maxBytes: 1 << 30)
        for (offset, event) in batch.events.enumerated() {
            if event.isDamaged {
                content.damaged.append(batch.first + LogPosition(offset))
            } else {
                content.bodies[event.id] = event.body
            }
        }
        content.delegates = recovery.delegates.map(\.key)
        content.waiting = recovery.waiting.map(\.event)
        content.lanes = recovery.lanes.map(\.delegate)
        content.settled = recovery.settled
        return content
    }

    private func flip(_ path: String, _ place: Int, bit: UInt8 = 1) throws {
        var all = try #require(bytes(path))
        all[place] ^= bit
        write(all, to: path)
    }

    private func kind(_ body: () throws -> Void) -> MaintenanceError.Kind? {
        do {
            try body()
            return nil
        } catch {
            return (error as? MaintenanceError)?.kind
        }
    }

    @Test("a backup on the disk of a server that runs is refused if it would not leave room for the server")
    func room() throws {
        try makeDatabase()
        _ = try Backup.make(of: path, to: backup, reserve: .max)
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let other = folder.path + "/b.backup"
        let thrown = #expect(throws: MaintenanceError.self) { try Backup.make(of: path, to: other, reserve: .max) }
        #expect(thrown?.kind == .output)
        #expect(try Files.names(in: folder.path).sorted() == ["a.backup", "data"])
        let size = try Backup.make(of: path, to: other, reserve: 0)
        #expect(size == (try Files.size(other)))
    }

    @Test("a backup with any name can be checked", arguments: ["Büro", "100 %20", "a?b#c"])
    func names(_ name: String) throws {
        try makeDatabase()
        let backup = "\(folder.path)/\(name)"
        _ = try Backup.make(of: path, to: backup)
        #expect(try DatabaseCheck.run(backup).isGood)
    }

    @Test("what a backup restores is what the database held")
    func roundTrip() throws {
        try makeDatabase()
        let expected = try content(path)
        #expect(expected.bodies.count == 80 && expected.waiting == [5] && expected.settled == 7)
        let size = try Backup.make(of: path, to: backup)
        #expect(bytes(backup)?.count == size)
        #expect(permissions(backup) == 0o600)
        #expect(try DatabaseCheck.run(backup).isGood)
        let restored = folder.path + "/restored"
        try Backup.restore(backup, to: restored)
        #expect(permissions(restored) == 0o700 && permissions(restored + "/herald.db") == 0o600)
        #expect(try DatabaseCheck.run(restored).isGood)
        #expect(try content(restored) == expected)
        #expect(kind { try Backup.restore(backup, to: restored) } == .output)
        #expect(kind { _ = try Backup.make(of: path, to: backup) } == .output)
        #expect(kind { _ = try Backup.make(of: folder.path, to: backup + "2") } == .input)
        #expect(!exists(backup + "2") && !exists(backup + ".partial"))
    }

    @Test("a backup that is made while events are written has one moment of them")
    func whileWriting() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try fill(store, 1...3000)
        var next = 3001
        var wasWritten = false
        _ = try Backup.make(of: path, to: backup) { copied, all in
            // Between two steps, as another thread would.
            wasWritten = (try? fill(store, next...next + 400)) != nil
            next += 401
            return true
        }
        #expect(wasWritten)
        let report = try DatabaseCheck.run(backup)
        #expect(report.isGood, "\(report.lines)")
        let restored = folder.path + "/restored"
        try Backup.restore(backup, to: restored)
        #expect(try content(restored).bodies.count == 3000)
        #expect(try DatabaseCheck.run(path).isGood)
    }

    @Test("a backup that is ended leaves nothing")
    func ended() throws {
        try makeDatabase()
        #expect(kind { _ = try Backup.make(of: path, to: backup) { _, _ in false } } == .cancelled)
        #expect(!exists(backup) && !exists(backup + ".partial"))
        // Everything is copied, and not yet hashed.
        #expect(kind { _ = try Backup.make(of: path, to: backup) { $0 < $1 } } == .cancelled)
        #expect(!exists(backup) && !exists(backup + ".partial"))
    }

    @Test("a restore that is ended leaves an empty folder, into which the next one restores")
    func endedRestore() throws {
        try makeDatabase()
        _ = try Backup.make(of: path, to: backup)
        let restored = folder.path + "/restored"
        #expect(kind { try Backup.restore(backup, to: restored) { false } } == .cancelled)
        #expect(!exists(restored))
        // The file of the copy is there.
        let found = kind { try Backup.restore(backup, to: restored) { !exists(restored) } }
        #expect(found == .cancelled)
        #expect(try Files.names(in: restored).isEmpty)
        try Backup.restore(backup, to: restored)
        #expect(try content(restored) == content(path))
    }

    @Test("a second backup to the same path is refused while the first one is made, which is complete")
    func twice() throws {
        try makeDatabase()
        // Of a backup that was interrupted.
        write([1, 2, 3], to: backup + ".partial")
        var second: MaintenanceError.Kind?
        let size = try Backup.make(of: path, to: backup) { _, _ in
            second = second ?? kind { _ = try Backup.make(of: path, to: backup) }
            return true
        }
        #expect(second == .output && bytes(backup)?.count == size && permissions(backup) == 0o600)
        #expect(!exists(backup + ".partial.lock"))
        try Backup.restore(backup, to: folder.path + "/restored")
        #expect(try content(folder.path + "/restored") == content(path))
        #expect(!exists(backup + ".partial"))
    }

    @Test("no lock of Herald is on the file that SQLite writes: on a network file system it would keep SQLite's out")
    func lockBeside() throws {
        try makeDatabase()
        var isFree: Bool?
        _ = try Backup.make(of: path, to: backup) { _, _ in
            let file = open(backup + ".partial", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            isFree = isFree ?? (flock(file, LOCK_EX | LOCK_NB) == 0)
            return true
        }
        #expect(isFree == true)
    }

    @Test("a backup that SQLite can't continue says why")
    func reason() throws {
        try makeDatabase()
        var other: Connection?
        var found: StoreError?
        do {
            _ = try Backup.make(of: path, to: backup) { _, _ in
                if other == nil {
                    other = try? Connection(path: backup + ".partial", .readWrite)
                    try? other?.execute("BEGIN EXCLUSIVE")
                }
                return true
            }
        } catch {
            found = error as? StoreError
        }
        #expect(found == .failed(reason: "database is locked (SQLite code 5)"))
    }

    @Test("50 flipped bits in a backup: each is found, and none is restored", arguments: 0..<50)
    func flippedBackup(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try makeDatabase(20)
        let size = try Backup.make(of: path, to: backup)
        try flip(backup, random.number(0...size - 1), bit: 1 << UInt8(random.number(0...7)))
        #expect(kind { _ = try DatabaseCheck.run(backup) } == .damage)
        #expect(kind { try Backup.restore(backup, to: folder.path + "/restored") } == .damage)
        #expect(!exists(folder.path + "/restored"))
    }

    @Test("gaps that retention has made are no damage, and are kept by a salvage; other gaps are damage")
    func gaps() throws {
        try makeDatabase(20)
        do {
            let store = try SQLiteStore(folder: path)
            defer { store.close() }
            try store.transaction { (transaction) throws(StoreError) in
                for range in [3...4, 9...9, 8...8] as [ClosedRange<LogPosition>] {
                    _ = try transaction.removeEvents(range, limit: 500)
                }
            }
        }
        #expect(try DatabaseCheck.run(path).isGood)
        let salvaged = folder.path + "/salvaged"
        #expect(try Salvage.run(from: path, to: salvaged).isGood)
        #expect(try DatabaseCheck.run(salvaged).isGood)
        #expect(try content(salvaged).bodies == (try content(path).bodies))
        do {
            let connection = try Connection(path: database, .readWrite)
            #expect(try GapTable.all(connection) == [3: 4, 8: 9])
            try connection.execute("DELETE FROM events WHERE sequence = 12; INSERT INTO gaps VALUES (15, 16)")
        }
        let report = try DatabaseCheck.run(path)
        #expect(
            report.lines.filter { !$0.isGood }.map(\.text) == [
                "events: position 13 follows 11", "events: positions 15 to 16 are said to be removed",
            ])
    }

    @Test(
        "50 flipped bits in a database: what the check calls good is whole, and the rest is salvaged", arguments: 0..<50
    )
    func flippedDatabase(seed: UInt64) throws {
        var random = SeededRandom(seed: 1000 + seed)
        try makeDatabase()
        let expected = try content(path)
        // Not the header and the schema on the first page.
        let place = random.number(4096...(try #require(bytes(database)).count - 1))
        try flip(database, place, bit: 1 << UInt8(random.number(0...7)))
        let isGood = (try? DatabaseCheck.run(path).isGood) ?? false
        let salvaged = folder.path + "/salvaged"
        var report: DatabaseCheck.Report?
        let problem = kind { report = try Salvage.run(from: path, to: salvaged) }
        guard let report else {
            // The bit was in the schema, without which no table can be found: that is said.
            #expect(problem == .damage && !isGood && !exists(salvaged + "/herald.db"))
            return
        }
        let checked = try DatabaseCheck.run(salvaged)
        #expect(checked.isGood, "\(checked.lines)")
        let found = try content(salvaged)
        for (id, body) in found.bodies { #expect(expected.bodies[id] == body) }
        // One bit is in one page.
        #expect(found.bodies.count + found.damaged.count >= 60)
        if isGood {
            #expect(report.isGood, "byte \(place): \(report.lines.filter { !$0.isGood })")
            #expect(found.bodies == expected.bodies)
        }
    }

    @Test(
        "a log that is damaged is salvaged up to the damage, and the rest is said to be missing", arguments: [1, 9, 20])
    func damagedLog(page: Int) throws {
        let store = try SQLiteStore(folder: path)
        for number in 1...12 { try fill(store, number...number) }
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        try flip(copy + "/herald.db-wal", 32 + (page - 1) * 4120 + 24 + 3000)
        #expect(try DatabaseCheck.run(copy).isGood == false)
        let salvaged = folder.path + "/salvaged"
        let bad = try Salvage.run(from: copy, to: salvaged).lines.filter { !$0.isGood }.map(\.text)
        #expect(bad.count == 1 && bad[0].contains("page \(page) is damaged"), "\(bad)")
        #expect(bad[0].contains("everything is missing"), "\(bad)")
        let found = try content(salvaged)
        #expect(found.damaged.isEmpty && found.bodies.count < 12 && (page == 1) == found.bodies.isEmpty)
        #expect(Set(found.bodies.keys) == Set((0..<found.bodies.count).map { "e\($0 + 1)" }))
        #expect(try DatabaseCheck.run(salvaged).isGood)
    }

    @Test(
        "events whose first or last page can't be read are reported, and keep their positions",
        arguments: [true, false])
    func unreadableLeaf(isFirst: Bool) throws {
        try makeDatabase(400)
        let leaves: [Int64]
        do {
            let connection = try Connection(path: database, .immutable)
            leaves = try Statement(
                connection, "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' ORDER BY path"
            ).rows { $0.integer(0) }
        }
        try #require(leaves.count > 20)
        let leaf = try #require(isFirst ? leaves.first : leaves.last)
        // Its first byte is its kind.
        try flip(database, Int(leaf - 1) * 4096, bit: 0x40)
        let salvaged = folder.path + "/salvaged"
        let report = try Salvage.run(from: path, to: salvaged)
        #expect(report.lines.contains { !$0.isGood && $0.text.hasPrefix("events: ") }, "\(report.lines)")
        let found = try content(salvaged)
        #expect(found.bodies.count > 350 && !found.damaged.isEmpty)
        #expect(found.bodies.count + found.damaged.count == 400)
        #expect(found.damaged.contains(isFirst ? 1 : 400))
        #expect(found.settled == 7)
    }

    @Test("a folder into which a migration has not ended, or which was moved, is not backed up, and not called good")
    func migration() throws {
        try makeDatabase()
        for state in [MoveState.into("postgres://one"), .away("postgres://two")] {
            try MoveMark.write(state, try StoreFolder(path))
            #expect(failure { _ = try Backup.make(of: path, to: backup) } == state.error(path))
            let bad = try DatabaseCheck.run(path).lines.filter { !$0.isGood }.map(\.text)
            #expect(bad.count == 1 && bad[0].hasPrefix("migration: "), "\(bad)")
        }
        try MoveMark.write(nil, try StoreFolder(path))
        #expect(try Backup.make(of: path, to: backup) > 0)
    }

    @Test("a log that a backup of another process keeps when the store is closed is known to be needed")
    func keptLog() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store, 1...10)
        do {
            let backup = try Connection(path: database, .readOnly)
            try backup.execute("BEGIN")
            #expect(try backup.integer("SELECT count(*) FROM events") == 10)
            store.close()
        }
        try #require(!(bytes(path + "/herald.db-wal") ?? []).isEmpty)
        unlink(path + "/herald.db-wal")
        #expect(try !DatabaseCheck.run(path).isGood)
        #expect(failure { _ = try SQLiteStore(folder: path) } != nil)
    }

    @Test("a database that is empty is not called good, and nothing is made of it")
    func emptied() throws {
        try makeDatabase()
        write([], to: database)
        #expect(failure { _ = try DatabaseCheck.run(path) } == .corrupt(path: database, reason: "it is empty"))
        let salvaged = folder.path + "/salvaged"
        #expect(kind { _ = try Salvage.run(from: path, to: salvaged) } == .damage)
        #expect(!exists(salvaged + "/herald.db"))
    }

    @Test(
        "a database that was cut is salvaged as far as it goes, and the rest is said to be missing", arguments: [2, 9])
    func cut(pages: Int) throws {
        try makeDatabase()
        var all = try #require(bytes(database))
        all.removeLast(4096 * pages)
        write(all, to: database)
        let salvaged = folder.path + "/salvaged"
        let report = try Salvage.run(from: path, to: salvaged)
        #expect(report.lines.contains { !$0.isGood && $0.text.contains("pages are missing") }, "\(report.lines)")
        #expect(try DatabaseCheck.run(salvaged).isGood)
    }

    @Test("an event that gets the position of one that a salvage has lost does not count as delivered")
    func lostEnd() throws {
        try makeDatabase()
        do {
            let connection = try Connection(path: database, .readWrite)
            try connection.execute("DELETE FROM events WHERE sequence > 5")
        }
        let salvaged = folder.path + "/salvaged"
        _ = try Salvage.run(from: path, to: salvaged)
        let store = try SQLiteStore(folder: salvaged)
        defer { store.close() }
        #expect(try store.found().decided.isEmpty)
        #expect(try store.makeReader().attempts(event: 6).isEmpty)
    }

    @Test("a salvage ends with the error of its target, such as a full disk", arguments: [false, true])
    func fullTarget(byPosition: Bool) throws {
        try makeDatabase()
        let from = try Connection(path: database, .readWrite)
        let target = try StoreFolder(folder.path + "/salvaged")
        try SQLiteStore.prepare(target)
        #expect(!StoreFolder.holdsDatabase(target.path), "a server takes it only once everything is copied")
        let to = try Connection(path: target.newDatabase, .readWrite)
        let pages = try to.integer("PRAGMA page_count")
        try to.execute("PRAGMA max_page_count = \(pages); BEGIN IMMEDIATE")
        var report = DatabaseCheck.Report()
        let copy = try TableCopy("events", from, to)
        let error = failure { if byPosition { try copy.runEvents(&report) } else { try copy.run(&report) } }
        #expect(error == .full && report.lines.isEmpty)
    }

    @Test("a write-ahead log that was deleted with its extent is reported by the check, a backup and a salvage")
    func lostLog() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store, 1...100)
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        unlink(copy + "/herald.db-wal")
        unlink(copy + "/herald.extent")
        func isMissing(_ report: DatabaseCheck.Report) -> Bool {
            report.lines.contains { !$0.isGood && $0.text.contains("herald.db-wal is missing") }
        }
        #expect(isMissing(try DatabaseCheck.run(copy)))
        #expect(failure { _ = try Backup.make(of: copy, to: backup) } != nil)
        #expect(isMissing(try Salvage.run(from: copy, to: folder.path + "/salvaged")))
    }

    @Test("the check finds what must not be between the tables")
    func invariants() throws {
        try makeDatabase()
        do {
            let connection = try Connection(path: database, .readWrite)
            try connection.execute("UPDATE waiting SET event = 900; UPDATE progress SET settled = 901")
            _ = try connection.checkpoint(.truncate)
        }
        let bad = try DatabaseCheck.run(path).lines.filter { !$0.isGood }.map(\.text)
        #expect(
            bad == [
                "lanes and deliveries: 1 deliveries that wait for an event beyond the log",
                "lanes and deliveries: 1 common positions beyond the log",
            ])
    }

    @Test("a folder in use is not salvaged, and is checked")
    func inUse() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try fill(store, 1...5)
        guard case .inUse? = failure({ _ = try Salvage.run(from: path, to: folder.path + "/new") })
        else { throw Unexpected("the files of a running server were copied") }
        let report = try DatabaseCheck.run(path)
        #expect(report.lines.map(\.text).contains("events: 5, each as it was stored"))
    }
}
