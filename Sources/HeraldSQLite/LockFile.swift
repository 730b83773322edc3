import Glibc
import HeraldModel
import HeraldRuntime
import Synchronization

/// Keeps other processes out of a folder. The lock is on the folder itself, so deleting files in it does not release
/// it.
///
/// `herald.lock` in the folder names the holder. Its second line says that commits may exist in the write-ahead log
/// only. If that line remains after a crash but the log is missing, the log was deleted, and with it acknowledged
/// events.
final class LockFile {
    private static let logInUse = "log in use"

    /// The folders that this process has locked. The process id in the file is not enough: in containers, several
    /// processes have the id 1.
    private static let held = Mutex<Set<FileID>>([])

    let path: String
    private let folder: Int32
    /// `herald.lock`.
    private let descriptor: Int32

    /// - Throws: `.inUse`, naming the holder.
    init(_ folder: StoreFolder) throws(StoreError) {
        path = folder.lock
        self.folder = try LockFile.open(folder.path, O_RDONLY | O_DIRECTORY)
        do {
            descriptor = try LockFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            close(self.folder)
            throw error
        }
        guard flock(self.folder, LOCK_EX | LOCK_NB) == 0 else {
            if let id = FileID(self.folder), LockFile.held.withLock({ $0.contains(id) }) {
                throw .inUse(path: folder.path, holder: StoreError.thisProcess)
            }
            let holder = LockFile.lines(descriptor).first ?? ""
            throw .inUse(path: folder.path, holder: holder.isEmpty ? "another process" : "process \(holder)")
        }
        if let id = FileID(self.folder) { _ = LockFile.held.withLock { $0.insert(id) } }
        isHeld = true
        fchmod(descriptor, 0o600)
        try write(logInUse: logWasInUse)
    }

    /// Whether this process has the lock; `false` if another holder refused it.
    private var isHeld = false

    private static func open(_ path: String, _ flags: Int32) throws(StoreError) -> Int32 {
        do {
            return Int32(try systemCall("open") { Int(Glibc.open(path, flags | O_CLOEXEC, 0o600)) })
        } catch {
            throw .notWritable(path: path, reason: error.description)
        }
    }

    /// Releases the lock explicitly: a child process that is being started may still have a copy of the descriptor.
    /// The file is not deleted, because another process may have the lock by now.
    deinit {
        if isHeld, let id = FileID(folder) { _ = LockFile.held.withLock { $0.remove(id) } }
        if isHeld { flock(folder, LOCK_UN) }
        close(descriptor)
        close(folder)
    }

    /// Whether the last holder ended while commits were in the write-ahead log only.
    var logWasInUse: Bool { LockFile.lines(descriptor).dropFirst().first == LockFile.logInUse }

    /// Whether the log of a folder that is not locked was in use.
    static func logWasInUse(_ folder: StoreFolder) -> Bool {
        let descriptor = Glibc.open(folder.lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return lines(descriptor).dropFirst().first == logInUse
    }

    /// Durable on return: the write-ahead log is deleted only after that.
    func write(logInUse: Bool) throws(StoreError) {
        let bytes = Array(("\(getpid())\n" + (logInUse ? LockFile.logInUse + "\n" : "")).utf8)
        do {
            _ = try systemCall("pwrite") { pwrite(descriptor, bytes, bytes.count, 0) }
            _ = try systemCall("ftruncate") { Int(ftruncate(descriptor, off_t(bytes.count))) }
            _ = try systemCall("fsync") { Int(fsync(descriptor)) }
        } catch {
            throw error.code == ENOSPC ? .full : .notWritable(path: path, reason: error.description)
        }
    }

    fileprivate static func lines(_ descriptor: Int32) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = max(0, pread(descriptor, &bytes, bytes.count, 0))
        return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

extension SQLiteStore {
    /// The process that has a data folder open; `nil` if none has. Changes nothing.
    package static func holder(ofFolder path: String) -> String? {
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        defer { Glibc.close(folder) }
        // A server that starts at this moment is refused; the lock ends with the descriptor.
        guard flock(folder, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        let lock = openat(folder, "herald.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return "another process" }
        defer { Glibc.close(lock) }
        return LockFile.lines(lock).first.map { "process \($0)" } ?? "another process"
    }
}
