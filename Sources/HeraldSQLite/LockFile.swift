import Glibc
import HeraldCore
import HeraldRuntime
import Synchronization

/// Keeps a second process out of a folder. What is locked is the folder itself, so that deleting files in it changes nothing.
///
/// `herald.lock` in it names the holder. A second line there says that commits may live in the write-ahead log alone. When it
/// is there after a crash but the log is not, someone has removed the log, and with it acknowledged events.
final class LockFile {
    private static let logInUse = "log in use"

    /// The folders that this process holds. The number in the file does not tell: in containers several processes are
    /// number 1.
    private static let held = Mutex<Set<FileID>>([])

    let path: String
    private let folder: Int32
    /// `herald.lock`, locked too: all that Herald 0.1 looks at.
    private let descriptor: Int32

    /// - Throws: `.inUse` naming the holder.
    init(_ folder: StoreFolder) throws(StoreError) {
        path = folder.lock
        self.folder = try LockFile.open(folder.path, O_RDONLY | O_DIRECTORY)
        do {
            descriptor = try LockFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            close(self.folder)
            throw error
        }
        for file in [self.folder, descriptor] {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                if let id = FileID(self.folder), LockFile.held.withLock({ $0.contains(id) }) {
                    throw .inUse(path: folder.path, holder: StoreError.thisProcess)
                }
                let holder = LockFile.lines(descriptor).first ?? ""
                throw .inUse(path: folder.path, holder: holder.isEmpty ? "another process" : "process \(holder)")
            }
        }
        if let id = FileID(self.folder) { _ = LockFile.held.withLock { $0.insert(id) } }
        isHeld = true
        fchmod(descriptor, 0o600)
        try write(logInUse: logWasInUse)
    }

    /// Whether it is ours, and not that of a holder that has kept us out.
    private var isHeld = false

    private static func open(_ path: String, _ flags: Int32) throws(StoreError) -> Int32 {
        do {
            return Int32(try systemCall("open") { Int(Glibc.open(path, flags | O_CLOEXEC, 0o600)) })
        } catch {
            throw .notWritable(path: path, reason: error.description)
        }
    }

    /// Lets go of the lock, also when a child that is just being started still has copies of the descriptors. The file
    /// stays: it may be another holder's by now.
    deinit {
        if isHeld, let id = FileID(folder) { _ = LockFile.held.withLock { $0.remove(id) } }
        for file in [descriptor, folder] {
            if isHeld { flock(file, LOCK_UN) }
            close(file)
        }
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
