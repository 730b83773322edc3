import CHeraldXXHash
import Glibc
import HeraldCore
import HeraldRuntime

/// `herald.extent`: which write-ahead log holds acknowledged commits, and how many pages of it at least. A log that is
/// missing, another one, or shorter was damaged, and is no torn end.
///
/// It is a lower bound at any moment, also when the last writes are lost in a power cut: it is raised after each commit
/// without a flush, and withdrawn with one before the log may begin anew. So it costs a small write for each commit, and a
/// flush for each checkpoint. After the end of the process it is exact; after a power cut it may be older by as much as the
/// kernel had not written.
final class LogExtent {
    struct Bound: Equatable {
        /// As they stand in the log.
        var salts: UInt64
        /// Pages of the log; 0: nothing is known of it.
        var pages: Int

        static let none = Bound(salts: 0, pages: 0)
    }

    private static let magic = Array("HRLDMARK".utf8)
    private static let size = 32

    private let descriptor: Int32
    private let path: String
    private(set) var bound: Bound
    /// The log may begin anew, and the file does not say so yet.
    private var mustWithdraw = false

    /// Opens the file, and makes it when there is none.
    init(path: String) throws(StoreError) {
        self.path = path
        do {
            descriptor = Int32(
                try systemCall("open") { Int(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)) })
        } catch {
            throw error.code == ENOSPC ? .full : .notWritable(path: path, reason: error.description)
        }
        fchmod(descriptor, 0o600)
        bound = Self.read(descriptor)
    }

    deinit { close(descriptor) }

    /// What a file says, without making one. One that is missing, or is damaged itself, says nothing.
    static func bound(path: String) -> Bound {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .none }
        defer { close(descriptor) }
        return read(descriptor)
    }

    /// After a commit, once it is durable. A write that fails leaves a lower bound.
    /// - Parameters:
    ///   - pages: that the log has since; 0 when the commit wrote nothing.
    ///   - salts: of the log; asked only when it may be another one than before.
    func raise(toPages pages: Int, salts: () -> UInt64?) {
        guard pages > 0, !mustWithdraw else { return }
        if bound.pages == 0 {
            guard let found = salts() else { return }
            bound.salts = found
        }
        bound.pages = pages
        _ = write()
    }

    /// Before the log may begin anew or be cut. Durable when it returns.
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

    /// Before a transaction: what could not be withdrawn before must be now.
    func withdrawIfDue() throws(StoreError) {
        if mustWithdraw { try withdraw() }
    }

    private func write() -> Bool {
        var bytes = Self.magic
        withUnsafeBytes(of: bound.salts.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: UInt64(bound.pages).littleEndian) { bytes += $0 }
        withUnsafeBytes(of: Self.hash(bytes).littleEndian) { bytes += $0 }
        return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }

    private static func read(_ descriptor: Int32) -> Bound {
        var bytes = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &bytes, size, 0) == size, bytes.starts(with: magic) else { return .none }
        func number(_ place: Int) -> UInt64 { bytes[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        guard number(24) == hash(Array(bytes[..<24])), let pages = Int(exactly: number(16)) else { return .none }
        return Bound(salts: number(8), pages: pages)
    }

    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { herald_hash($0.baseAddress, $0.count, 0) }
    }
}
