import Glibc
import HeraldModel

/// `herald.extent`: identifies the write-ahead log that holds acknowledged commits, and its minimum length in pages. A
/// log that is missing, different or shorter was damaged; it is not the torn end of a crash.
///
/// The length is always a lower bound, even if a power cut loses the last writes: it is raised after each commit
/// without a flush, and reset with a flush before the log may restart. The cost is a small write for each commit and a
/// flush for each checkpoint. After the end of the process it is exact; after a power cut it may lack what the kernel
/// had not yet written.
final class LogExtent {
    struct Bound: Equatable {
        /// As stored in the log.
        var salts: UInt64
        /// Pages of the log; 0 if unknown.
        var pages: Int

        static let none = Bound(salts: 0, pages: 0)
    }

    private static let magic = Array("HRLDMARK".utf8)
    private static let size = 32
    /// The bytes that have a hash, which follows them.
    private static let hashed = 24
    /// No log is that long: 4 PiB.
    private static let maxPages: UInt64 = 1 << 40

    private let descriptor: Int32
    private let path: String
    private(set) var bound: Bound
    /// The log may restart, but the file does not say so yet.
    private var mustWithdraw = false

    /// Opens the file, or creates it.
    init(path: String) throws(StoreError) {
        self.path = path
        descriptor = try PlainFile.open(path, O_RDWR | O_CREAT)
        fchmod(descriptor, 0o600)
        bound = Self.read(descriptor)
    }

    deinit { close(descriptor) }

    /// Reads the bound of a file without creating it; `.none` if the file is missing or damaged.
    static func bound(path: String) -> Bound {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .none }
        defer { close(descriptor) }
        return read(descriptor)
    }

    /// Call it after a commit, once that is durable. If the write fails, the file still has a lower bound.
    /// - Parameters:
    ///   - pages: the length of the log; 0 if the commit wrote nothing.
    ///   - salts: of the log; called only if the log may have restarted.
    func raise(toPages pages: Int, salts: () -> UInt64?) {
        guard pages > 0, !mustWithdraw else { return }
        if bound.pages == 0 {
            guard let found = salts() else { return }
            bound.salts = found
        }
        bound.pages = pages
        _ = write()
    }

    /// Call it before the log may restart or be truncated. Durable on return.
    func withdraw() throws(StoreError) {
        guard bound.pages > 0 || mustWithdraw else { return }
        mustWithdraw = true
        bound = .none
        guard write() else { throw .inputOutput(reason: "\(path): \(String(cString: strerror(errno)))") }
        guard fdatasync(descriptor) == 0 else {
            throw .syncFailed(reason: "\(path): \(String(cString: strerror(errno)))")
        }
        mustWithdraw = false
    }

    /// Call it before a transaction: repeats a reset that failed.
    func withdrawIfDue() throws(StoreError) {
        if mustWithdraw { try withdraw() }
    }

    /// Without an array, whose growth took as long as a tenth of an event's row, at each commit.
    private func write() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 8) { bytes in
            bytes.copyBytes(from: Self.magic)
            bytes.storeBytes(of: bound.salts.littleEndian, toByteOffset: 8, as: UInt64.self)
            bytes.storeBytes(of: UInt64(bound.pages).littleEndian, toByteOffset: 16, as: UInt64.self)
            let hash = PlainFile.hash(UnsafeRawBufferPointer(rebasing: bytes[..<Self.hashed]))
            bytes.storeBytes(of: hash.littleEndian, toByteOffset: Self.hashed, as: UInt64.self)
            return pwrite(descriptor, bytes.baseAddress, Self.size, 0) == Self.size
        }
    }

    private static func read(_ descriptor: Int32) -> Bound {
        var bytes = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &bytes, size, 0) == size, bytes.starts(with: magic) else { return .none }
        func number(_ place: Int) -> UInt64 { bytes[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        guard number(hashed) == PlainFile.hash(Array(bytes[..<hashed])), number(16) <= maxPages else { return .none }
        return Bound(salts: number(8), pages: Int(number(16)))
    }
}
