import Glibc

/// Verifies, while a server runs, that the write-ahead log still has the pages of acknowledged commits: another program may
/// have cut it. SQLite writes on behind the cut, and would notice nothing until the next start.
///
/// Reads the header of the last page of the previous check, and of some pages that were written since, spread evenly: after a
/// cut, the file is shorter, or has zeros there. The writer's thread.
struct LogWatch {
    /// The maximum number of pages that a check reads. All of them would cost a publisher two reads for each event.
    private static let sample = 16

    private let path: String
    private var seen = LogExtent.Bound.none

    init(path: String) { self.path = path }

    /// - Parameter bound: the log as of the last commit.
    /// - Returns: `false` if pages are missing; `true` also if that can't be determined.
    mutating func isWhole(_ bound: LogExtent.Bound) -> Bool {
        guard bound.pages > 0 else {
            seen = .none
            return true
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return true }
        // The last page may be cut behind its header.
        guard status.st_size >= LogFrame.place(ofPage: bound.pages + 1) else { return false }
        let first = seen.salts == bound.salts && (1...bound.pages).contains(seen.pages) ? seen.pages : 1
        var header = [UInt8](repeating: 0, count: LogFrame.headerSize)
        for page in stride(from: first, through: bound.pages, by: max(1, (bound.pages - first) / Self.sample)) {
            let count = pread(descriptor, &header, header.count, LogFrame.place(ofPage: page))
            if count < 0 { return true }
            guard count == header.count, LogFrame.salts(header, 8) == bound.salts else { return false }
        }
        seen = bound
        return true
    }
}
