import Glibc
import HeraldCore
import HeraldRuntime
import Synchronization

/// `herald.lock`: held by the one process that may open the database, with its number inside.
///
/// A second line says that commits may live in the write-ahead log alone. When it is there after a crash but the log is
/// not, someone has removed the log, and with it acknowledged events.
final class LockFile {
    private static let logInUse = "log in use"

    /// A file, whatever it is called.
    private struct FileID: Hashable {
        let device: UInt64
        let number: UInt64

        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
        }
    }

    /// Those that this process holds. The number in the file does not tell: in containers several processes are number 1.
    private static let held = Mutex<Set<FileID>>([])

    let path: String
    private let descriptor: Int32

    /// - Throws: `.inUse` naming the holder.
    init(path: String) throws(StoreError) {
        do {
            descriptor = Int32(
                try systemCall("open") { Int(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)) })
        } catch {
            throw .notWritable(path: path, reason: error.description)
        }
        self.path = path
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if let id = FileID(descriptor), LockFile.held.withLock({ $0.contains(id) }) {
                throw .inUse(path: path, holder: StoreError.thisProcess)
            }
            let holder = LockFile.lines(descriptor).first ?? ""
            throw .inUse(path: path, holder: holder.isEmpty ? "another process" : "process \(holder)")
        }
        if let id = FileID(descriptor) { _ = LockFile.held.withLock { $0.insert(id) } }
        fchmod(descriptor, 0o600)
        try write(logInUse: logWasInUse)
    }

    /// Lets go of the lock, also when a child that is just being started still has a copy of the descriptor. The file
    /// stays: removing it would let two processes each hold "the" lock.
    deinit {
        if let id = FileID(descriptor) { _ = LockFile.held.withLock { $0.remove(id) } }
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether the last holder died while its commits were in the log.
    var logWasInUse: Bool { LockFile.lines(descriptor).dropFirst().first == LockFile.logInUse }

    /// Durable when it returns: the log is removed only after that was noted.
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

    private static func lines(_ descriptor: Int32) -> [String] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = max(0, pread(descriptor, &bytes, bytes.count, 0))
        return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
