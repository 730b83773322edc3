import CHeraldSQLite
import Glibc
import HeraldModel
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldSQLite

@Suite("Reads that fail")
struct FailedReadTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }
    private var database: String { path + "/herald.db" }

    @Test(
        "the code of SQLite and the error of the system call say what has failed",
        arguments: [
            (SQLITE_IOERR | 1 << 8, EIO, StoreError.inputOutput(reason: "page (Input/output error)")),
            (SQLITE_IOERR | 3 << 8, ENOSPC, .full), (SQLITE_IOERR | 3 << 8, EDQUOT, .full), (SQLITE_FULL, 0, .full),
            (SQLITE_IOERR | 4 << 8, EIO, .syncFailed(reason: "page (Input/output error)")),
            (SQLITE_CORRUPT, 0, .corrupt(path: "db", reason: "page")),
            (SQLITE_NOTADB, 0, .corrupt(path: "db", reason: "page")),
            (SQLITE_CANTOPEN, EACCES, .notWritable(path: "db", reason: "page (Permission denied)")),
            (SQLITE_ERROR, 0, .failed(reason: "page (SQLite code 1)")),
        ])
    func codes(code: Int32, systemError: Int32, error: StoreError) {
        #expect(StoreError(code: code, errno: systemError, message: "page", path: "db") == error)
    }

    @Test(
        "damage is an error of the disk if a read has failed, and other errors stay",
        arguments: [
            (EIO, StoreError.inputOutput(reason: "db: Input/output error")),
            (ENXIO, .inputOutput(reason: "db: No such device or address")),
            (0, .corrupt(path: "db", reason: "page")), (ENOENT, .corrupt(path: "db", reason: "page")),
        ])
    func damage(systemError: Int32, error: StoreError) {
        #expect(StoreError.corrupt(path: "db", reason: "page").ofRead(errno: systemError) == error)
        #expect(StoreError.full.ofRead(errno: systemError) == .full)
    }

    @Test("a disk that fails to read what a start reads on connections of its own is no damage")
    func start() throws {
        let first = try SQLiteStore(folder: path)
        try first.transaction { (transaction) throws(StoreError) in
            // So many keys that a second connection reads half of the delegates.
            try transaction.setDelegate(WebhookDelegate(1_001))
        }
        first.close()
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let failed = StoreError.inputOutput(reason: "\(database): Input/output error")
        // The writer's connection has opened the file before, and reads it.
        try FailingReads.during(of: database) {
            #expect(failure { _ = try store.makeReader() } == failed)
            #expect(failure { _ = try store.recover() } == failed)
        }
        #expect(try store.recover().delegates.map(\.key) == [1_001])
    }

    @Test("damage that a reader finds after a read has failed is damage")
    func damageAfterFailure() throws {
        let first = try SQLiteStore(folder: path)
        try first.transaction { (transaction) throws(StoreError) in
            try transaction.append((1...200).map { Event(id: "e\($0)", data: "{}") })
        }
        let connection = try #require(first.writer?.connection)
        let root = try Int(connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'events'"))
        first.close()
        let store = try SQLiteStore(folder: path)
        defer { store.close() }
        let reader = try store.makeReader()
        let failed = StoreError.inputOutput(reason: "\(database): Input/output error")
        try FailingReads.during(of: database, sparesOpenFiles: false) {
            #expect(failure { _ = try reader.events(after: 0, limit: 200, maxBytes: .max) } == failed)
        }
        var file = try Files.read(database)
        for place in (root - 1) * LogFrame.pageSize..<root * LogFrame.pageSize { file[place] = 0xff }
        try Files.write(file, to: database)
        let damage = StoreError.corrupt(path: database, reason: "database disk image is malformed")
        #expect(failure { _ = try reader.events(after: 0, limit: 200, maxBytes: .max) } == damage)
    }
}

/// Lets SQLite's reads of a file fail with EIO, while the body runs. The first page is read: without it SQLite does not speak of
/// damage. A read behind the end of the file needs no disk.
private enum FailingReads {
    private typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int

    private struct State {
        var file: UInt64?
        var spared: Set<Int32> = []
    }

    private static let state = Mutex(State())

    /// - Parameter sparesOpenFiles: whether only descriptors that are opened while the body runs fail.
    static func during(of path: String, sparesOpenFiles: Bool = true, _ body: () throws -> Void) throws {
        _ = isInstalled
        let file = try #require(inode(path))
        let spared = sparesOpenFiles ? Set((0..<Int32(1_024)).filter { inode($0) == file }) : []
        state.withLock { $0 = State(file: file, spared: spared) }
        defer { state.withLock { $0 = State() } }
        try body()
    }

    /// Reads of all other files are as before, so it is never undone.
    private static let isInstalled: Bool = {
        guard let system = sqlite3_vfs_find(nil) else { return false }
        let read: Read = { descriptor, bytes, count, offset in
            let fails =
                offset >= LogFrame.pageSize && offset < 1 << 40
                && FailingReads.state.withLock { state in
                    state.file.map { $0 == FailingReads.inode(descriptor) && !state.spared.contains(descriptor) }
                        ?? false
                }
            if !fails { return pread(descriptor, bytes, count, offset) }
            errno = EIO
            return -1
        }
        for name in ["pread", "pread64"] where system.pointee.xGetSystemCall(system, name) != nil {
            _ = system.pointee.xSetSystemCall(system, name, unsafeBitCast(read, to: sqlite3_syscall_ptr.self))
        }
        return true
    }()

    private static func inode(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    private static func inode(_ descriptor: Int32) -> UInt64? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
