import Glibc
import HeraldTestSupport
import Synchronization

/// The store that the servers of the tests use: SQLite, or PostgreSQL with `HERALD_TEST_STORE=postgres`.
enum TestStore {
    /// For tests of what a data folder has: `.enabled(if: TestStore.isFolder)`.
    static let isFolder = getenv("HERALD_TEST_STORE").map { String(cString: $0) } != "postgres"

    /// The address of each database, by the data folder that it stands for.
    private static let databases = Mutex<[String: String]>([:])

    /// The arguments of a server.
    /// - Parameters:
    ///   - data: its data folder. Where the store is a database, each has its own.
    ///   - folder: the database goes with it.
    static func arguments(data: String, _ folder: TemporaryFolder) throws -> [String] {
        if isFolder { return ["--data", data] }
        let server = try PostgresServer.shared()
        let url = try databases.withLock { databases in
            if let url = databases[data] { return url }
            let url = try server.makeDatabase()
            databases[data] = url
            folder.whenRemoved { server.drop(url) }
            return url
        }
        return ["--store", url]
    }
}
