import CHeraldSQLite
import CHeraldXXHash
import Glibc
import HeraldModel
import HeraldRuntime

/// A file that is read and written at byte offsets. One thread.
final class PlainFile {
    let path: String
    private let descriptor: Int32

    static let partSize = 1 << 20

    convenience init(reading path: String) throws(StoreError) { try self.init(path, O_RDONLY) }

    /// Opens an existing file to append to it.
    convenience init(changing path: String) throws(StoreError) { try self.init(path, O_RDWR) }

    /// Creates a file that only its owner can access.
    convenience init(creating path: String) throws(StoreError) { try self.init(path, O_RDWR | O_CREAT | O_EXCL) }

    private init(_ path: String, _ flags: Int32) throws(StoreError) {
        self.path = path
        descriptor = try Self.open(path, flags)
    }

    deinit { close(descriptor) }

    /// - Returns: a descriptor, which the caller closes.
    static func open(_ path: String, _ flags: Int32) throws(StoreError) -> Int32 {
        do {
            return Int32(try systemCall("open") { Int(Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)) })
        } catch {
            throw error.code == ENOSPC ? .full : .notWritable(path: path, reason: error.description)
        }
    }

    var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Returns fewer bytes at the end of the file.
    func read(_ count: Int, at place: Int) throws(StoreError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        do {
            let found = try systemCall("pread") { pread(descriptor, &bytes, count, off_t(place)) }
            bytes.removeLast(count - found)
            return bytes
        } catch {
            throw .inputOutput(reason: "\(path): \(error.description)")
        }
    }

    func write(_ bytes: [UInt8], at place: Int) throws(StoreError) {
        var done = 0
        while done < bytes.count {
            do {
                done += try systemCall("pwrite") {
                    bytes.withUnsafeBytes { buffer in
                        pwrite(
                            descriptor, buffer.baseAddress.map { $0 + done }, bytes.count - done, off_t(place + done))
                    }
                }
            } catch {
                throw error.code == ENOSPC ? .full : .inputOutput(reason: "\(path): \(error.description)")
            }
        }
    }

    /// Reserves the space for what is going to be written, where the file system can. Otherwise a flush of any other file
    /// may have to wait until all of this one is written, which gets its blocks only then.
    func reserve(_ count: Int) { herald_reserve(descriptor, Int64(count)) }

    /// Starts to write what was changed, without waiting.
    func beginWriting() { herald_begin_writing(descriptor) }

    /// Appends zeros.
    func extend(to size: Int) throws(StoreError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else {
            throw errno == ENOSPC ? .full : .inputOutput(reason: "\(path): \(String(cString: strerror(errno)))")
        }
    }

    func sync() throws(StoreError) {
        guard fsync(descriptor) == 0 else { throw .syncFailed(reason: "\(path): \(String(cString: strerror(errno)))") }
    }

    /// The hash of the first `count` bytes; `nil` if the file is shorter, or if it was ended.
    /// - Parameter pause: called after each mebibyte with the time at which it began, in monotonic nanoseconds; returns `false`
    ///   to end.
    func hash(_ count: Int, _ pause: (_ started: Int64) -> Bool = { _ in true }) throws(StoreError) -> UInt64? {
        var hash: UInt64 = 0
        var place = 0
        while place < count {
            let started = Clock.system.monotonic()
            let part = try read(min(Self.partSize, count - place), at: place)
            if part.isEmpty { return nil }
            hash = Self.hash(part, hash)
            place += part.count
            guard pause(started) else { return nil }
        }
        return hash
    }

    /// - Parameter before: the hash of the bytes before these.
    static func hash(_ bytes: [UInt8], _ before: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { hash($0, before) }
    }

    static func hash(_ bytes: UnsafeRawBufferPointer, _ before: UInt64 = 0) -> UInt64 {
        herald_hash(bytes.baseAddress, bytes.count, before)
    }

    /// Copies the first `count` bytes into a new file, durably.
    @discardableResult
    func copy(_ count: Int, to path: String, progress: () -> Bool = { true }) throws(StoreError) -> Bool {
        let copy = try PlainFile(creating: path)
        var place = 0
        while place < count {
            guard progress() else { return false }
            let part = try read(min(Self.partSize, count - place), at: place)
            if part.isEmpty { break }
            try copy.write(part, at: place)
            place += part.count
        }
        try copy.sync()
        return true
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether the path does not exist or is an empty folder.
    static func isFree(_ path: String) -> Bool {
        guard exists(path) else { return true }
        guard let folder = opendir(path) else { return false }
        defer { closedir(folder) }
        var entries = 0
        while readdir(folder) != nil { entries += 1 }
        // `.` and `..`
        return entries <= 2
    }
}
