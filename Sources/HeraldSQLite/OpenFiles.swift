import Glibc
import HeraldModel

/// Identifies a file independently of its path.
struct FileID: Hashable {
    private let device: UInt64
    private let number: UInt64

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }

    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// - Returns: `nil` if the file can't be identified.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether the path now refers to another file or to none; `false` if that can't be determined.
    func hasLeft(_ path: String) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return FileID(status) != self }
        return errno == ENOENT || errno == ENOTDIR
    }
}

/// The files that SQLite has open, as they were when the store was opened. If one of them is deleted or moved, the next
/// start won't have it, and the server would write to a file without a path.
struct OpenFiles {
    private let folder: String
    private let files: [(name: String, id: FileID)]

    /// Create it once all files exist and are open.
    init(_ folder: StoreFolder) {
        self.folder = folder.path
        files = ["herald.db", "herald.db-wal", "herald.db-shm"].compactMap { name in
            FileID(path: folder.path + "/" + name).map { (name, $0) }
        }
    }

    /// Three system calls, some microseconds.
    func check() throws(StoreError) {
        for (name, id) in files where id.hasLeft(folder + "/" + name) { throw .lost(path: folder, file: name) }
    }
}
