import Glibc
import HeraldModel
import HeraldRuntime

/// The folder with `herald.db` and its related files, and the checks that do not need SQLite.
struct StoreFolder {
    let path: String
    var database: String { path + "/herald.db" }
    var log: String { database + "-wal" }
    /// See `LogExtent`.
    var extent: String { path + "/herald.extent" }
    var lock: String { path + "/herald.lock" }
    /// The state of a migration to or from another store: see `MoveMark`.
    var move: String { path + "/herald.migration" }
    /// A new database is created here before it is renamed.
    var newDatabase: String { path + "/herald.db.new" }

    /// Creates the folder if it is missing, accessible only by its owner.
    init(_ path: String) throws(StoreError) {
        if mkdir(path, 0o700) == 0 {
            // Independent of the umask.
            chmod(path, 0o700)
            try StoreFolder.sync(path + "/..")
        } else if errno != EEXIST {
            throw .notWritable(path: path, reason: String(cString: strerror(errno)))
        }
        guard PlainFile.isFolder(path) else { throw .notWritable(path: path, reason: "it is not a folder") }
        // SQLite is configured to follow no links, and would not follow those on the path to the folder either. An
        // absolute path also stays valid when the process changes its working directory.
        guard let real = realpath(path, nil) else {
            throw .notWritable(path: path, reason: String(cString: strerror(errno)))
        }
        self.path = String(cString: real)
        free(real)
    }

    /// Creates nothing.
    static func holdsDatabase(_ path: String) -> Bool { status(path + "/herald.db") != nil }

    /// The size of a file in bytes; `nil` if it is missing.
    func size(_ file: String) -> Int? { StoreFolder.size(file) }
    static func size(_ file: String) -> Int? { status(file).map { Int($0.st_size) } }

    /// Refuses, by its first bytes, a file that is not a Herald database; SQLite would treat an empty file as a new
    /// one. Call it only under the lock: closing a descriptor releases SQLite's own locks on the file.
    func checkHeader() throws(StoreError) {
        let descriptor: Int32
        do {
            descriptor = Int32(try systemCall("open") { Int(open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) })
        } catch {
            throw .notWritable(
                path: database, reason: error.code == ELOOP ? "it is a symbolic link" : error.description)
        }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(descriptor, &header, header.count, 0)
        let code = errno
        guard count >= 0 || code == EISDIR else {
            throw .inputOutput(reason: "\(database): \(String(cString: strerror(code)))")
        }
        guard count > 0 else {
            throw .corrupt(path: database, reason: count == 0 ? "it is empty" : "it is not a file that can be read")
        }
        guard count == header.count, header.starts(with: "SQLite format 3\0".utf8) else {
            throw .corrupt(path: database, reason: "it is not an SQLite database")
        }
        let id = header[68..<72].reduce(0) { $0 << 8 | Int64($1) }
        guard id == Schema.applicationID else {
            throw .corrupt(path: database, reason: "it belongs to another program (application id \(id))")
        }
    }

    /// Creates a file that only its owner can access, independent of the umask; SQLite creates related files with the
    /// same mode.
    func createPrivateFile(_ file: String) throws(StoreError) {
        let descriptor = try PlainFile.open(file, O_RDWR | O_CREAT | O_EXCL)
        fchmod(descriptor, 0o600)
        close(descriptor)
    }

    func remove(_ file: String) { unlink(file) }

    /// Renames the new database, durably.
    func publishNewDatabase() throws(StoreError) {
        do {
            _ = try systemCall("rename") { Int(rename(newDatabase, database)) }
        } catch {
            throw .notWritable(path: database, reason: error.description)
        }
        try sync()
    }

    /// Makes the entries of the folder durable.
    func sync() throws(StoreError) { try StoreFolder.sync(path) }

    private static func sync(_ path: String) throws(StoreError) {
        do {
            let descriptor = Int32(try systemCall("open") { Int(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) })
            defer { close(descriptor) }
            _ = try systemCall("fsync") { Int(fsync(descriptor)) }
        } catch {
            throw .syncFailed(reason: error.description)
        }
    }

    /// The free space on the file system that this process may use, in bytes.
    func freeBytes() throws(StoreError) -> UInt64 {
        var status = statvfs()
        do {
            _ = try systemCall("statvfs") { Int(statvfs(path, &status)) }
        } catch {
            throw .inputOutput(reason: error.description)
        }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }

    private static func status(_ file: String) -> stat? {
        var status = stat()
        return stat(file, &status) == 0 ? status : nil
    }
}
