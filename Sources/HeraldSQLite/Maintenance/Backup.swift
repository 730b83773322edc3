import CHeraldSQLite
import Glibc
import HeraldModel
import HeraldRuntime
import HeraldStore

/// A backup: one file, an SQLite database followed by 32 bytes that contain its length and its hash.
///
/// It contains the events and all state at one point in time. Secrets are stored as in the database: encrypted if there
/// is a master key, which the backup does not contain.
package enum Backup {
    private static let magic = Array("HRLDBKUP".utf8)
    private static let sealSize = 32
    /// The number of database pages copied between two pauses: 256 KiB.
    private static let pagesPerStep: Int32 = 64
    /// The number of steps after which their pages, 1 MiB, are sent to the disk. One flush of the whole file would delay the
    /// commits of a server on the same disk.
    private static let stepsPerWrite = 4

    // MARK: Making one

    /// Copies the database of a folder into a new file, whether a server is running or not. All backups are made here.
    ///
    /// Runs on the calling thread. While a server has the folder, it rests for most of the time, so that publishing
    /// continues at its pace. The write-ahead log grows during the backup.
    /// - Parameters:
    ///   - reserve: the bytes that it leaves free on the disk of a server: as many as `SQLiteStore.health` requires.
    ///   - progress: called before each step with the pages copied and all pages, and while the copy is hashed; returns `false`
    ///     to cancel.
    /// - Returns: the size of the file in bytes.
    package static func make(
        of folder: String, to path: String, reserve: UInt64 = 64 << 20,
        progress: (_ copied: Int, _ all: Int) -> Bool = { _, _ in true }
    ) throws -> Int {
        guard StoreFolder.holdsDatabase(folder) else {
            throw MaintenanceError(kind: .input, description: "There is no Herald database in \(folder).")
        }
        try refuse(existing: path)
        let source = try StoreFolder(folder)
        if let state = try MoveMark.read(source) { throw state.error(folder) }
        let pace = Pace(isOn: source.isInUse)
        if !pace.isOn,
            let problem = try LogScan.problem(
                in: source, LogExtent.bound(path: source.extent), wasInUse: LockFile.logWasInUse(source))
        {
            throw StoreError.logDamaged(path: source.log, reason: problem)
        }
        let target = try place(path)
        let partial = "\(target.folder)/\(target.name).partial"
        let lock = try PathLock("\(partial).lock", of: path)
        defer { withExtendedLifetime(lock) {} }
        // Another backup may have ended in the meantime.
        try refuse(existing: path)
        // An interrupted backup may have left it.
        unlink(partial)
        do {
            try source.createPrivateFile(partial)
            try copy(source.database, to: partial, pace, reserve, progress)
            let size = try seal(partial, pace, progress)
            guard rename(partial, "\(target.folder)/\(target.name)") == 0 else {
                throw StoreError.notWritable(path: path, reason: String(cString: strerror(errno)))
            }
            try StoreFolder(target.folder).sync()
            return size
        } catch {
            unlink(partial)
            throw error
        }
    }

    private static func refuse(existing path: String) throws {
        guard PlainFile.exists(path) else { return }
        throw MaintenanceError(kind: .output, description: "\(path) exists already. Choose another name.")
    }

    /// Resolves symbolic links on the path to the folder, since SQLite follows none.
    private static func place(_ path: String) throws -> (folder: String, name: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        let parent =
            parts.count > 1 || path.hasPrefix("/")
            ? (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/") : "."
        guard let name = parts.last, !path.hasSuffix("/"), let real = realpath(parent, nil) else {
            throw MaintenanceError(kind: .output, description: "The folder of \(path) does not exist.")
        }
        defer { free(real) }
        return (String(cString: real), String(name))
    }

    private static func copy(
        _ database: String, to path: String, _ pace: Pace, _ reserve: UInt64, _ progress: (Int, Int) -> Bool
    ) throws {
        let file = try PlainFile(changing: path)
        let source = try Connection(path: database, .readOnly)
        let target = try Connection(path: path, .readWrite)
        _ = try target.text("PRAGMA journal_mode = MEMORY")
        try target.execute("PRAGMA synchronous = OFF")
        // A snapshot: commits after this are not copied, and do not restart the copy.
        try source.execute("BEGIN")
        let pages = try source.integer("PRAGMA page_count")
        let size = Int(pages) * Int(try source.integer("PRAGMA page_size"))
        if pace.isOn { try checkRoom(for: size, at: path, besides: database, reserve) }
        file.reserve(size)
        guard let copying = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.error(sqlite3_errcode(target.handle))
        }
        defer { sqlite3_backup_finish(copying) }
        var (copied, all, steps) = (0, 1, 0)
        while true {
            guard progress(copied, all) else { throw cancelled("backup") }
            let started = Pace.now
            let code = sqlite3_backup_step(copying, pagesPerStep)
            if code == SQLITE_DONE { break }
            guard code == SQLITE_OK else {
                // The connections have no message of it before the end of the copy.
                let isDamage = [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
                throw StoreError(
                    code: code, errno: 0, message: String(cString: sqlite3_errstr(code)),
                    path: isDamage ? database : path)
            }
            all = Int(sqlite3_backup_pagecount(copying))
            copied = all - Int(sqlite3_backup_remaining(copying))
            steps += 1
            if pace.isOn, steps.isMultiple(of: stepsPerWrite) { file.beginWriting() }
            pace.rest(since: started)
        }
        _ = progress(all, all)
    }

    /// A backup without room would fill the disk for as long as it is made, and a server on that disk could commit nothing.
    private static func checkRoom(
        for size: Int, at path: String, besides database: String, _ reserve: UInt64
    ) throws {
        var (server, system) = (stat(), statvfs())
        var target = stat()
        guard stat(database, &server) == 0, stat(path, &target) == 0, server.st_dev == target.st_dev,
            statvfs(path, &system) == 0
        else { return }
        let free = UInt64(system.f_bavail) * UInt64(system.f_frsize)
        guard free < reserve || free - reserve < UInt64(size) else { return }
        throw MaintenanceError(
            kind: .output,
            description: "The backup takes \(size) bytes of the disk of its server, which has \(free) bytes free. The "
                + "server needs \(reserve) of them. Choose a folder on another disk.")
    }

    private static func cancelled(_ work: String) -> MaintenanceError {
        MaintenanceError(kind: .cancelled, description: "The \(work) was ended.")
    }

    /// Appends the length and the hash to a file.
    private static func seal(_ path: String, _ pace: Pace, _ progress: (Int, Int) -> Bool) throws -> Int {
        let file = try PlainFile(changing: path)
        let size = file.size
        var bytes = magic
        // With the rests, the hash of a large file takes minutes.
        let found = try file.hash(size) { started in
            pace.rest(since: started)
            return progress(1, 1)
        }
        guard let content = found else { throw cancelled("backup") }
        for number in [UInt64(size), content] {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        withUnsafeBytes(of: PlainFile.hash(bytes).littleEndian) { bytes += $0 }
        try file.write(bytes, at: size)
        try file.sync()
        return size + bytes.count
    }

    // MARK: Reading one

    /// Verifies the hash of a backup and returns the file, with the size of the database in bytes.
    /// - Throws: `MaintenanceError` if the file is not a backup or is damaged.
    static func verified(_ path: String) throws -> (file: PlainFile, size: Int) {
        guard PlainFile.exists(path) else {
            throw MaintenanceError(kind: .input, description: "There is no file \(path).")
        }
        let file = try PlainFile(reading: path)
        let size = file.size - sealSize
        let found = size > 0 ? try file.read(sealSize, at: size) : []
        guard found.count == sealSize, found.starts(with: magic) else {
            throw MaintenanceError(
                kind: .damage,
                description: "\(path) is not a backup that `herald backup` has made, or its end is missing.")
        }
        func number(_ place: Int) -> UInt64 { found[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        guard number(24) == PlainFile.hash(Array(found[..<24])), number(8) == UInt64(size),
            try file.hash(size) == number(16)
        else {
            throw MaintenanceError(
                kind: .damage, description: "\(path) is damaged: its bytes are not those that `herald backup` wrote.")
        }
        return (file, size)
    }

    /// Copies the database of a backup into a folder, with which a server can then be started.
    /// - Parameters:
    ///   - folder: created if it is missing; must be empty.
    ///   - progress: called before anything is made and before each part is copied; returns `false` to cancel.
    package static func restore(_ path: String, to folder: String, progress: () -> Bool = { true }) throws {
        let backup = try verified(path)
        let check = try DatabaseCheck.run(path)
        guard check.isGood else {
            throw MaintenanceError(
                kind: .damage, description: "\(path) is damaged: `herald check \(path)` shows where.")
        }
        guard PlainFile.isFree(folder) else {
            throw MaintenanceError(
                kind: .output,
                description: "\(folder) is not empty. Choose a folder that does not exist yet, or an empty one.")
        }
        guard progress() else { throw cancelled("restore") }
        let target = try StoreFolder(folder)
        do {
            guard try backup.file.copy(backup.size, to: target.newDatabase, progress: progress) else {
                throw cancelled("restore")
            }
            try target.publishNewDatabase()
        } catch {
            target.remove(target.newDatabase)
            throw error
        }
    }
}

/// Keeps another backup to the same path out, by the lock of an empty file beside it. The incomplete backup itself has no such
/// lock: on network file systems it would keep SQLite's locks, and there even its writes, out of that file.
private final class PathLock {
    private let path: String
    private let descriptor: Int32
    private var isHeld = false

    /// - Parameter backup: the path of the backup, for messages.
    init(_ path: String, of backup: String) throws {
        self.path = path
        descriptor = try PlainFile.open(path, O_RDWR | O_CREAT)
        // A file system without locks keeps no other backup out.
        let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
        // A backup that has ended in the meantime has removed the file.
        guard !isLocked, FileID(descriptor)?.hasLeft(path) == false else {
            throw MaintenanceError(
                kind: .output, description: "Another backup to \(backup) has not ended. Choose another name.")
        }
        isHeld = true
    }

    deinit {
        if isHeld { unlink(path) }
        close(descriptor)
    }
}

/// Leaves the processor and the disk to a server for most of the time.
private struct Pace {
    let isOn: Bool

    static var now: Int64 { Clock.system.monotonic() }

    /// Rests nine times as long as the work took.
    func rest(since started: Int64) {
        if isOn { usleep(UInt32(clamping: min(900_000, (Self.now - started) / 1000 * 9))) }
    }
}

extension StoreFolder {
    /// Whether a process has the database open.
    var isInUse: Bool {
        do throws(StoreError) {
            _ = try LockFile(self)
            return false
        } catch {
            if case .inUse = error { return true }
            return false
        }
    }
}
