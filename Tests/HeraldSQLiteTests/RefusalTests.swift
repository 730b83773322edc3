import Glibc
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

@Suite("What the SQLite store refuses stays as it was", .timeLimit(.minutes(20)))
struct RefusalTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    /// A database with some events, closed cleanly.
    private func makeDatabase() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store)
        store.close()
    }

    private func fill(_ store: SQLiteStore) throws {
        try store.transaction { (transaction) throws(StoreError) in
            for number in 0..<200 {
                try transaction.append(
                    Event(id: "e\(number)", data: "\"" + String(repeating: "x", count: 500) + "\""))
            }
        }
    }

    /// Opens what is there, which has to fail, and to change nothing. A check of the folder has to find it before.
    private func refusal(sourceLocation: SourceLocation = #_sourceLocation) -> StoreError? {
        let before = bytes(database)
        let log = bytes(database + "-wal") ?? []
        let found = failure { _ = try FolderCheck(folder: path) }
        let error = failure { _ = try SQLiteStore(folder: path) }
        if case .inUse? = error {} else { #expect(found == error, sourceLocation: sourceLocation) }
        #expect(bytes(database) == before, sourceLocation: sourceLocation)
        #expect(bytes(database + "-wal") ?? [] == log, sourceLocation: sourceLocation)
        return error
    }

    private func corruptReason(sourceLocation: SourceLocation = #_sourceLocation) -> String? {
        guard case .corrupt(database, let reason)? = refusal(sourceLocation: sourceLocation) else { return nil }
        return reason
    }

    private func overwrite(_ change: (inout [UInt8]) -> Void) throws {
        var all = try #require(bytes(database))
        change(&all)
        write(all, to: database)
    }

    @Test("a database that this process has open, with this reason")
    func inUse() throws {
        let store = try SQLiteStore(folder: path)
        #expect(refusal() == .inUse(path: path, holder: StoreError.thisProcess))
        try fill(store)
        store.close()
        try SQLiteStore(folder: path).close()
    }

    @Test("a database with one flipped bit in the name of a column, every time")
    func damagedSchema() throws {
        try makeDatabase()
        try overwrite { all in
            let name = Array("settled".utf8)
            let place = all.indices.first { all[$0...].starts(with: name) }
            if let place { all[place + 6] ^= 1 }
        }
        for _ in 1...2 { #expect(corruptReason() == "its schema is not that of Herald: no such column: settled") }
        #expect(try DatabaseCheck.run(path).isGood == false)
    }

    @Test("a database in use by another process, with its id")
    func inUseElsewhere() throws {
        try makeDatabase()
        write(Array("4242\n".utf8), to: path + "/herald.lock")
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(refusal() == .inUse(path: path, holder: "process 4242"))
        close(descriptor)
        try SQLiteStore(folder: path).close()
    }

    @Test("not a folder behind a symbolic link")
    func linkedFolder() throws {
        try makeDatabase()
        let link = folder.path + "/link"
        symlink(path, link)
        let store = try SQLiteStore(folder: link)
        #expect(try store.recover().head == 200)
        store.close()
    }

    @Test("a folder that can't be created or is not a folder")
    func folders() throws {
        let missing = folder.path + "/no/such"
        let error = failure { _ = try SQLiteStore(folder: missing) }
        #expect(error == .notWritable(path: missing, reason: "No such file or directory"))
        write([], to: path)
        #expect(failure { _ = try SQLiteStore(folder: path) } == .notWritable(path: path, reason: "it is not a folder"))
        guard case .notWritable? = failure({ _ = try SQLiteStore(folder: "/proc/self") })
        else { throw Unexpected("a folder where no file can be made") }
    }

    @Test("a read-only file", .enabled(if: geteuid() != 0, "root may write everything"))
    func readOnlyFile() throws {
        try makeDatabase()
        chmod(database, 0o400)
        #expect(refusal() == .notWritable(path: database, reason: "the file is read-only"))
    }

    @Test("a symbolic link, and a folder instead of the file")
    func notAFile() throws {
        try makeDatabase()
        rename(database, folder.path + "/elsewhere.db")
        symlink(folder.path + "/elsewhere.db", database)
        #expect(refusal() == .notWritable(path: database, reason: "it is a symbolic link"))
        unlink(database)
        mkdir(database, 0o700)
        #expect(corruptReason() == "it is not a file that can be read")
    }

    @Test("an empty file, and one that is not a database")
    func noDatabase() throws {
        mkdir(path, 0o700)
        write([], to: database)
        #expect(corruptReason() == "it is empty")
        write(Array(repeating: 7, count: 50), to: database)
        #expect(corruptReason() == "it is not an SQLite database")
        write(Array(repeating: 7, count: 5000), to: database)
        #expect(corruptReason() == "it is not an SQLite database")
    }

    @Test("another program's database")
    func foreign() throws {
        mkdir(path, 0o700)
        do {
            let connection = try newDatabase(database)
            try connection.execute("CREATE TABLE things (name TEXT); PRAGMA application_id = 77")
        }
        #expect(corruptReason() == "it belongs to another program (application id 77)")
    }

    @Test("a truncated database")
    func truncated() throws {
        try makeDatabase()
        try overwrite { $0.removeLast(4096 * 3) }
        #expect(corruptReason() != nil)
        try overwrite { $0.removeLast($0.count - 4096) }
        #expect(corruptReason() != nil)
        try overwrite { $0.removeLast($0.count - 99) }
        #expect(corruptReason() != nil)
    }

    @Test("a database with damage in any of its pages")
    func damaged() throws {
        try makeDatabase()
        let whole = try #require(bytes(database))
        for page in stride(from: 1, to: whole.count / 4096, by: 5) {
            let damage = page * 4096..<page * 4096 + 100
            try overwrite { all in
                all = whole
                all.replaceSubrange(damage, with: repeatElement(0xee, count: damage.count))
            }
            #expect(corruptReason() != nil, "page \(page)")
        }
    }

    @Test("a write-ahead log without its database")
    func lostDatabase() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store)
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        unlink(copy + "/herald.db")
        let log = bytes(copy + "/herald.db-wal")
        let error = failure { _ = try SQLiteStore(folder: copy) }
        let reason = "it is missing, but its log herald.db-wal is there"
        #expect(error == .corrupt(path: copy + "/herald.db", reason: reason))
        #expect(!exists(copy + "/herald.db"))
        #expect(bytes(copy + "/herald.db-wal") == log)
        unlink(copy + "/herald.db-wal")
        #expect(failure { _ = try SQLiteStore(folder: copy) } != nil)
        #expect(!exists(copy + "/herald.db"))
    }

    @Test("a database whose write-ahead log was removed after a crash")
    func lostLog() throws {
        let store = try SQLiteStore(folder: path)
        try fill(store)
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        unlink(copy + "/herald.db-wal")
        guard case .corrupt(_, let reason)? = failure({ _ = try SQLiteStore(folder: copy) })
        else { throw Unexpected("the loss of acknowledged events was not noticed") }
        #expect(reason.contains("herald.db-wal"))
        // As the message says, for someone who has a backup.
        let fresh = folder.path + "/fresh"
        mkdir(fresh, 0o700)
        write(try #require(bytes(copy + "/herald.db")), to: fresh + "/herald.db")
        try SQLiteStore(folder: fresh).close()
        // Nor when the file that says so is deleted, too.
        unlink(copy + "/herald.lock")
        guard case .logDamaged? = failure({ _ = try SQLiteStore(folder: copy) })
        else { throw Unexpected("the loss of acknowledged events was not noticed") }
    }

    private func makeDatabase(ofVersion version: Int) throws {
        try makeDatabase()
        let connection = try Connection(path: database, .readWrite)
        try connection.execute("PRAGMA user_version = \(version)")
        _ = try connection.checkpoint(.truncate)
    }

    @Test("a database whose version is negative, or is not that of its tables", arguments: [-3, 0])
    func wrongVersion(version: Int) throws {
        try makeDatabase(ofVersion: version)
        #expect(corruptReason()?.contains("version") == true)
    }

    @Test("a database of a version older than all supported ones", arguments: [1, Schema.first - 1])
    func older(version: Int) throws {
        try makeDatabase(ofVersion: version)
        #expect(refusal() == .older(path: database, found: version, supported: Schema.first))
        #expect(throws: StoreError.older(path: database, found: version, supported: Schema.first)) {
            try DatabaseCheck.run(path)
        }
    }

    @Test("a database whose last event has the number of no event")
    func wrongNumber() throws {
        try makeDatabase()
        do {
            let connection = try Connection(path: database, .readWrite)
            try connection.execute("UPDATE events SET sequence = 1 << 40 WHERE sequence = 200")
            _ = try connection.checkpoint(.truncate)
        }
        let reason = "it holds an impossible position, 1099511627776: the event before it has 199"
        #expect(refusal() == .unreadable(reason: reason))
    }

    @Test("a database of a later version")
    func newer() throws {
        try makeDatabase(ofVersion: 99)
        #expect(refusal() == .newer(path: database, found: 99, supported: Schema.version()))
    }
}
