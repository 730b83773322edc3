import Glibc
import HeraldModel
import HeraldStore
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("The SQLite store", .timeLimit(.minutes(20)))
struct SQLiteStoreTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    private func append(_ store: SQLiteStore, _ ids: String..., data: String = "{}") throws {
        try store.commit { (transaction) throws(StoreError) in
            for id in ids { try transaction.append(Event(id: id, data: data)) }
        }
    }

    @Test("its folder and files are private to the owner, with any umask")
    func permissionsOfFiles() throws {
        let old = umask(0)
        defer { umask(old) }
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        #expect(permissions(path) == 0o700)
        for name in ["herald.db", "herald.db-wal", "herald.db-shm", "herald.lock"] {
            #expect(permissions("\(path)/\(name)") == 0o600, "\(name)")
        }
        store.close()
        chmod(database, 0o644)
        try SQLiteStore(folder: path).close()
        #expect(permissions(database) == 0o600)
    }

    @Test("its connections have the documented settings")
    func pragmas() throws {
        let store = try SQLiteStore(folder: path)
        let connection = try #require(store.writer?.connection)
        for (name, value) in Pragmas.writer {
            #expect(try connection.text("PRAGMA \(name)") == value, "\(name)")
        }
        #expect(try connection.integer("PRAGMA application_id") == 0x4852_4c44)
        #expect(try connection.integer("PRAGMA user_version") == Int64(Schema.version()))
        #expect(throws: StoreError.self) { try connection.set("page_size", "512") }
    }

    @Test("a clean end leaves one file and an unused lock file")
    func cleanEnd() throws {
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        #expect(bytes(path + "/herald.lock") == Array("\(getpid())\nlog in use\n".utf8))
        store.close()
        #expect(!exists(database + "-wal") && !exists(database + "-shm"))
        #expect(bytes(path + "/herald.lock") == Array("\(getpid())\n".utf8))
        #expect(failure { try append(store, "b") } == .failed(reason: "it is closed"))
    }

    @Test(
        "a file that is open and was removed, moved or replaced is noticed, and nothing is written from then on",
        arguments: ["herald.db", "herald.db-wal", "herald.db-shm", ""], ["removed", "replaced"])
    func lostFile(name: String, how: String) throws {
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        try store.checkFiles()
        // The lock doesn't count: it is the folder's.
        unlink(path + "/herald.lock")
        try store.checkFiles()

        let file = name.isEmpty ? path : "\(path)/\(name)"
        #expect(rename(file, folder.path + "/elsewhere") == 0)
        if how == "replaced" {
            if name.isEmpty { copyAsAfterKill(folder.path + "/elsewhere", to: path) } else { write([], to: file) }
        }
        let lost = StoreError.lost(path: path, file: name.isEmpty ? "herald.db" : name)
        #expect(failure { try store.checkFiles() } == lost)
        #expect(failure { try append(store, "b") } == lost)
        #expect(failure { try store.health() } == lost)
        store.close()
        if name.isEmpty {
            let moved = try SQLiteStore(folder: folder.path + "/elsewhere")
            #expect(try moved.recover().head == 1, "what was acknowledged is in the folder that was moved")
            moved.close()
        }
    }

    @Test(
        "a write-ahead log that was cut is noticed, also behind later commits", arguments: [0.0, 0.5, 0.9], [0, 1, 9])
    func cutLog(part: Double, commits: Int) throws {
        let store = try SQLiteStore(folder: path)
        for number in 1...9 { try append(store, "a\(number)", data: "\"\(String(repeating: "x", count: 9_000))\"") }
        try store.checkFiles()
        for number in 1...9 { try append(store, "b\(number)") }
        let size = try Files.size(database + "-wal")
        #expect(truncate(database + "-wal", off_t(Double(size) * part)) == 0)
        // SQLite may notice by itself what it reads again.
        for number in 0..<commits { try? append(store, "c\(number)") }
        let lost = StoreError.lost(path: path, file: "herald.db-wal")
        #expect(failure { try store.checkFiles() } == lost)
        #expect(failure { try append(store, "d") } != nil, "nothing is written from then on")
        store.close()
    }

    @Test("a write-ahead log that is copied, restarted or truncated by the server is whole")
    func wholeLog() throws {
        let store = try SQLiteStore(folder: path)
        let connection = try #require(store.writer?.connection)
        for round in 0..<40 {
            try append(store, "e\(round)", data: "\"\(String(repeating: "x", count: 70_000))\"")
            try store.checkFiles()
            if round % 13 == 5 { _ = try store.writer?.checkpoint(.truncate) }
            if round % 13 == 9 { _ = try store.writer?.checkpoint(.passive) }
            try store.checkFiles()
        }
        #expect(connection.logPages > 0)
        store.close()
        #expect(try SQLiteStore(folder: path).recover().head == 40)
    }

    @Test("a folder in use stays so when the files in it are deleted")
    func lockedFolder() throws {
        let store = try SQLiteStore(folder: path)
        for name in ["herald.lock", "herald.db", "herald.db-wal", "herald.db-shm"] {
            unlink("\(path)/\(name)")
            #expect(failure { _ = try SQLiteStore(folder: path) } == .inUse(path: path, holder: StoreError.thisProcess))
        }
        store.close()
    }

    @Test("committed data survives a kill, uncommitted data does not")
    func kill() throws {
        let store = try SQLiteStore(folder: path)
        try append(store, "a", "b")
        let copy = folder.path + "/copy"
        try store.commit { (transaction) throws(StoreError) in
            // More than the page cache, so that uncommitted pages are on the disk, too.
            try store.writer?.connection.execute("PRAGMA cache_size = 10")
            for number in 0..<200 {
                try transaction.append(
                    Event(id: "x\(number)", data: "\"" + String(repeating: "x", count: 5000) + "\""))
            }
            copyAsAfterKill(path, to: copy)
        }
        let restarted = try SQLiteStore(folder: copy)
        #expect(try restarted.recover().head == 2)
        try append(restarted, "c")
        let batch = try restarted.makeReader().events(after: 0, limit: 9, maxBytes: 99)
        #expect(batch.events.map(\.id) == ["a", "b", "c"])
        #expect(try store.recover().head == 202)
    }

    @Test("a kill during the first creation does not prevent the next start")
    func killAtCreation() throws {
        mkdir(path, 0o700)
        write(Array("half of a database".utf8), to: database + ".new")
        write([1, 2, 3], to: database + ".new-wal")
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        store.close()
        #expect(!exists(database + ".new") && !exists(database + ".new-wal"))
    }

    @Test("the write-ahead log is copied into the file before it grows long")
    func logSize() throws {
        let store = try SQLiteStore(folder: path)
        let data = "\"" + String(repeating: "x", count: 100_000) + "\""
        for round in 0..<30 {
            try store.commit { (transaction) throws(StoreError) in
                for number in 0..<10 { try transaction.append(Event(id: "e\(round)-\(number)", data: data)) }
            }
        }
        let size = try #require(bytes(database + "-wal")).count
        #expect(size < 20 << 20)
        #expect(try #require(bytes(database)).count > 10 << 20)
    }

    @Test("a long reader does not stop the writer, and the write-ahead log shrinks afterwards")
    func longReader() throws {
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        let connection = try Connection(path: database, .readOnly)
        let data = "\"" + String(repeating: "x", count: 200_000) + "\""
        do {
            let statement = try Statement(connection, "SELECT id FROM events")
            #expect(try statement.step())
            for round in 0..<40 {
                try store.commit { (transaction) throws(StoreError) in
                    for number in 0..<10 { try transaction.append(Event(id: "e\(round)-\(number)", data: data)) }
                }
            }
            #expect(try #require(bytes(database + "-wal")).count > 70 << 20)
            statement.reset()
        }
        for number in 0..<30 { try append(store, "f\(number)", data: data) }
        #expect(try #require(bytes(database + "-wal")).count <= 64 << 20)
    }

    @Test("a full disk refuses only the transaction, and works again with free space")
    func full() throws {
        let store = try SQLiteStore(folder: path)
        try append(store, "a")
        let connection = try #require(store.writer?.connection)
        let pages = try connection.integer("PRAGMA page_count")
        try connection.execute("PRAGMA max_page_count = \(pages + 5)")
        let data = "\"" + String(repeating: "x", count: 100_000) + "\""
        #expect(failure { try append(store, "b", "c", data: data) } == .full)
        #expect(try store.makeReader().event(app: .default, id: "b") == nil)
        #expect(try store.recover().head == 1)
        try append(store, "small")

        try connection.execute("PRAGMA max_page_count = 1000000")
        try append(store, "b", data: data)
        let batch = try store.makeReader().events(after: 0, limit: 9, maxBytes: 999_999)
        #expect(batch.events.map(\.id) == ["a", "small", "b"])
    }

    @Test("health reports a full disk while some space is left")
    func health() throws {
        try SQLiteStore(folder: path, reserve: 1).health()
        #expect(failure { try SQLiteStore(folder: path, reserve: .max).health() } == .full)
    }

    @Test("a read that takes too long is interrupted")
    func slowRead() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try Connection(path: database, .readOnly)
        connection.startClock(seconds: -1)
        let endless = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        let error = failure { _ = try connection.integer(endless) }
        #expect(error == .failed(reason: "the read took longer than 30 s and was given up"))
    }

    @Test("a reader can't write")
    func readOnly() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try Connection(path: database, .readOnly)
        #expect(throws: StoreError.self) { try connection.execute("DELETE FROM events") }
    }

    @Test("erased data is removed from the files")
    func erasedBytes() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let long = String(repeating: "personal ", count: 2_000)
        try store.commit { (transaction) throws(StoreError) in
            for number in 0..<50 {
                let data = number % 5 == 0 ? #"{"secret": "\#(long)"}"# : #"{"n": \#(number)}"#
                let attributes = number % 5 == 0 ? [KeyValue("source", "personal")] : []
                try transaction.append(
                    Event(
                        id: "e\(number)", subject: number % 5 == 0 ? "personal" : nil, attributes: attributes,
                        data: data)
                )
            }
            var checkpoint = Checkpoint()
            checkpoint.attempts = (1...50).map { attempt(1, $0, excerpt: $0 % 5 == 1 ? "personal" : "other") }
            try transaction.write(checkpoint)
            try transaction.setAuthStatus(
                AuthStatus(
                    app: .default, userID: "personal", isLoggedIn: true, user: Array("\"personal\"".utf8), since: 1,
                    eventID: "e"))
            let answer = StoredAnswer(fingerprint: [], status: 202, headers: [], body: Array("\"personal\"".utf8))
            try transaction.setAnswer(answer, app: .default, key: "k", expiresAt: 9)
        }
        func isOnDisk() -> Bool {
            [database, database + "-wal"].contains { contains(bytes($0) ?? [], "personal") }
        }
        #expect(isOnDisk())
        let found = try store.makeReader().sequences(about: "personal", app: .default, after: 0, limit: 99)
        #expect(found.count == 10)

        // A reader that still looks at the old state keeps it in the log until it is gone.
        let connection = try Connection(path: database, .readOnly)
        let statement = try Statement(connection, "SELECT id FROM events")
        #expect(try statement.step())
        try store.commit { (transaction) throws(StoreError) in
            _ = try transaction.erase(found)
            _ = try transaction.eraseSubject("personal", app: .default)
        }
        statement.reset()
        try append(store, "the next commit")
        #expect(!isOnDisk())
        #expect(try store.makeReader().lastEvent() == 51)
    }

    @Test("erased data that a reader has kept in the write-ahead log is removed after it, without another erasure")
    func heldBack() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try store.commit { (transaction) throws(StoreError) in
            try transaction.append([Event(id: "a", subject: "personal"), Event(id: "b")])
        }
        let connection = try Connection(path: database, .readOnly)
        let statement = try Statement(connection, "SELECT id FROM events")
        #expect(try statement.step())
        try store.transaction { (transaction) throws(StoreError) in _ = try transaction.erase([1]) }
        guard case .heldBack = try store.checkpointIfDue(erasing: true) else { throw Unexpected("it is not held back") }
        statement.reset()
        // As the writer does after each of the next commits.
        try blockUntil("the log is truncated") { () throws -> Bool in
            guard case .done = try store.checkpointIfDue(erasing: false) else { return false }
            return true
        }
        #expect([database, database + "-wal"].allSatisfy { !contains(bytes($0) ?? [], "personal") })
    }

    @Test("deliveries that wait for the oldest event are removed in slices, too")
    func removalInSlices() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        try append(store, "a", "b", "c")
        try store.commit { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            for key in 1...5 as ClosedRange<DelegateKey> {
                try transaction.setDelegate(WebhookDelegate(key))
                checkpoint.waiting.append(
                    WaitingDelivery(delegate: key, event: 1, attempts: 1, dueAt: 1, state: .exhausted))
            }
            try transaction.write(checkpoint)
        }
        var firsts: [LogPosition] = []
        for _ in 0..<4 {
            try store.commit { (transaction) throws(StoreError) in
                firsts.append(try transaction.removeEvents(1...2, limit: 2).first)
            }
        }
        #expect(firsts == [1, 1, 3, 3])
        #expect(try store.makeReader().countDeliveries(DeliveryQuery([.exhausted])) == 0)
    }

    @Test("freed space is used again")
    func reuse() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try #require(store.writer?.connection)
        let data = "\"" + String(repeating: "x", count: 50_000) + "\""
        try append(store, "0", data: data)
        var pages: [Int64] = []
        for number in 1..<40 {
            try append(store, "\(number)", data: data)
            try store.commit { (transaction) throws(StoreError) in
                _ = try transaction.removeEvents(1...LogPosition.max, limit: 500)
            }
            pages.append(try connection.integer("PRAGMA page_count"))
        }
        #expect(pages.last == pages[5])
    }

    @Test("free space is given back, a piece at a time")
    func giveBack() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try #require(store.writer?.connection)
        let data = "\"" + String(repeating: "x", count: 20_000) + "\""
        for number in 0..<100 { try append(store, "\(number)", data: data) }
        func give(_ bytes: Int64) throws -> Int64 {
            var given: Int64 = 0
            try store.transaction { (transaction) throws(StoreError) in given = try transaction.giveBack(bytes: bytes) }
            return given
        }
        #expect(try give(1 << 20) == 0)
        try store.transaction { (transaction) throws(StoreError) in
            _ = try transaction.removeEvents(1...80, limit: 500)
        }
        let pages = try connection.integer("PRAGMA page_count")
        #expect(try give(40_960) == 40_960)
        #expect(try connection.integer("PRAGMA page_count") == pages - 10)
        // Less than a page.
        #expect(try give(4_095) == 0)
        #expect(try connection.integer("PRAGMA page_count") == pages - 10)
        while try give(1 << 20) > 0 {}
        #expect(try connection.integer("PRAGMA freelist_count") == 0)
        #expect(try connection.integer("PRAGMA page_count") < pages / 3)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
    }

    @Test("what attempts take is estimated within a tenth", arguments: [0, 30, 400, 800, 1_024])
    func attemptBytes(excerpt: Int) throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try #require(store.writer?.connection)
        var checkpoint = Checkpoint()
        for number in 1...20_000 {
            var record = AttemptRecord(
                delegate: Int64(number % 7), event: Int64(10_000 + number / 2), number: 1,
                startedAt: 1_780_000_000_000 + Int64(number), duration: 3_000 + Int64(number % 1_000), status: 200,
                failure: nil, detail: "", excerpt: [UInt8](repeating: 120, count: excerpt))
            record.transport.firstByte = 2_500
            record.transport.isReused = true
            record.transport.peer = "127.0.0.1:8080"
            record.transport.bytesSent = 900
            record.transport.bytesReceived = 120
            checkpoint.attempts.append(record)
        }
        try store.transaction { (transaction) throws(StoreError) in try transaction.write(checkpoint) }
        let real = try connection.integer(
            "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'attempts')")
        let estimate = try store.makeReader().sizes().attempts
        #expect(abs(estimate - real) * 10 < real, "\(estimate) of \(real)")
    }

    @Test("recovery, removals and lists use keys and indexes only")
    func plans() throws {
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let connection = try #require(store.writer?.connection)
        let statements = [
            SQLiteStore.decidedAtCommonPosition, SQLiteStore.decidedOfLane, SQLiteStore.decidedAhead,
            SQLiteStore.givenUpAhead, AttemptHeads.later, AttemptList.ofDelegate, GapTable.span,
            RetentionQueries.eventSizes, RetentionQueries.attempts,
        ]
        let shared: [SharedStatement] = [
            .log(.removeAttemptsBefore), .log(.removeAttemptsThrough), .log(.removeWaitingOfRange), .log(.removeMarks),
            .log(.acceptedSince), .log(.lastKnown), .log(.about), .delivery(.waitingEvents), .delivery(.searchOfAll),
            .delivery(.searchOfDelegate), .pending(.due), .pending(.dueOfApp), .pending(.apps),
            .pending(.replaced),
        ]
        let sharedLists: [SharedStatement] = [
            .delivery(.endOfPart), .delivery(.pageOfAll), .delivery(.pageOfDelegate), .delivery(.deliveredOfEvent),
            .delivery(.deliveredTo),
        ]
        let lists =
            [Reader.eventsMatching, Reader.eventsOfAppMatching, AttemptList.failures, AttemptList.ofDelivery]
            + sharedLists.map { $0.sql(.sqlite) }
        for sql in statements + shared.map({ $0.sql(.sqlite) }) + lists {
            let plan = try Statement(connection, "EXPLAIN QUERY PLAN " + sql).rows { $0.text(3) }
            for table in ["attempts", "waiting", "events", "marks", "gaps", "pending"] {
                #expect(!plan.contains { $0.hasPrefix("SCAN \(table)") }, "\(plan)")
            }
            if sql == SharedStatement.log(.about).sql(.sqlite) {
                #expect(plan[0].contains("INTEGER PRIMARY KEY"), "\(plan)")
            }
            // A page begins at its delivery, and not at the last one of its event.
            if sql == SharedStatement.delivery(.pageOfAll).sql(.sqlite) {
                #expect(plan[0].contains("(event,delegate)<(?,?)"), "\(plan)")
            }
            if lists.contains(sql) { #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)") }
        }
    }
}
