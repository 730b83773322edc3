import Glibc
import HeraldCore

/// A file, whatever it is called.
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

    /// - Returns: `nil` when it can't be found out.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether another file has this path by now, or none. Not when that can't be found out.
    func hasLeft(_ path: String) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return FileID(status) != self }
        return errno == ENOENT || errno == ENOTDIR
    }
}

/// The files that SQLite has open, as they were when the store was opened. Whoever deletes or moves one of them takes it
/// from the next start, or leaves us with a file that nobody finds.
struct OpenFiles {
    private let folder: String
    private let files: [(name: String, id: FileID)]

    /// To be made when all are open and there.
    init(_ folder: StoreFolder) {
        self.folder = folder.path
        files = ["herald.db", "herald.db-wal", "herald.db-shm"].compactMap { name in
            FileID(path: folder.path + "/" + name).map { (name, $0) }
        }
    }

    /// Three calls of the system, some microseconds.
    func check() throws(StoreError) {
        for (name, id) in files where id.hasLeft(folder + "/" + name) { throw .lost(path: folder, file: name) }
    }
}
