import Glibc
import HeraldCrypto
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldSQLite

/// `RefusalTests` has the folders that it refuses.
@Suite("The check of a data folder before a start")
struct FolderCheckTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/data" }

    private func sealer(_ byte: UInt8) throws -> Sealer {
        Sealer(try MasterKey(bytes: Array(repeating: byte, count: MasterKey.byteCount)))
    }

    private let key = APIKey(
        id: "key_1", name: "One", scopes: [.admin], digest: Array(repeating: 1, count: 32), createdAt: 0)

    private func addKey(_ store: SQLiteStore) throws {
        try store.transaction { (transaction) throws(StoreError) in try transaction.setKey(key) }
    }

    @Test("it finds the keys, in a closed folder, beside a server, and after a crash")
    func keys() throws {
        let store = try SQLiteStore(folder: path)
        try addKey(store)
        #expect(try FolderCheck(folder: path).keys == [key])
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        let names = try Files.names(in: path).sorted()
        #expect(try FolderCheck(folder: path).keys == [key])
        #expect(try Files.names(in: path).sorted() == names)
        let (database, log) = (bytes(copy + "/herald.db"), bytes(copy + "/herald.db-wal"))
        #expect(try FolderCheck(folder: copy).keys == [key])
        #expect(bytes(copy + "/herald.db") == database && bytes(copy + "/herald.db-wal") == log)
    }

    @Test("an empty folder stays empty")
    func empty() throws {
        mkdir(path, 0o700)
        #expect(try FolderCheck(folder: path).keys?.isEmpty == true)
        #expect(try Files.names(in: path).isEmpty)
    }

    @Test("a sealed database needs its key, and one that is not sealed takes any")
    func sealed() throws {
        let (own, other) = (try sealer(1), try sealer(2))
        try SQLiteStore(folder: path).close()
        #expect(try FolderCheck(folder: path, sealer: own).keys?.isEmpty == true)
        let store = try SQLiteStore(folder: path, sealer: own)
        try addKey(store)
        store.close()
        let refused: [(Sealer?, String)] = [
            (nil, "and no key was given"), (other, "under another key than the one that was given"),
        ]
        for (wrong, reason) in refused {
            let error = failure { _ = try FolderCheck(folder: path, sealer: wrong) }
            #expect(error == .sealed(path: path + "/herald.db", reason: reason))
        }
        #expect(try FolderCheck(folder: path, sealer: own).keys == [key])
    }

    @Test("a lost log is found")
    func lostLog() throws {
        let store = try SQLiteStore(folder: path)
        try addKey(store)
        let copy = folder.path + "/copy"
        copyAsAfterKill(path, to: copy)
        store.close()
        unlink(copy + "/herald.db-wal")
        let error = failure { _ = try FolderCheck(folder: copy) }
        #expect(error?.description.contains("herald.db-wal, with the last commits before a crash, is missing") == true)
    }
}
