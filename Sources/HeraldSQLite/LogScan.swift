import Glibc
import HeraldModel

/// Scans a write-ahead log before SQLite opens it: SQLite treats everything after the first damaged page as the torn
/// end of a crash, and silently ignores it.
///
/// Each commit is flushed before the next one is written. If a page continues a commit, that commit and everything
/// before it were therefore durable, and a damaged page before it is damage. A damaged page that is followed only by
/// pages of its own transaction is a torn end. Whether the last transaction of a log is torn or damaged, only
/// `LogExtent` can tell.
struct LogScan: Equatable {
    /// As stored in the file.
    private(set) var salts: UInt64 = 0
    /// The header is complete and matches its checksum.
    private(set) var hasHeader = false
    /// The pages of intact transactions at the beginning: what SQLite would read.
    private(set) var committed = 0
    /// The first damaged page before acknowledged commits, counted from 1; 0 for the header.
    private(set) var damagedPage: Int?

    /// The checksum of a log up to a page, and whether a transaction ends there.
    private struct Link {
        var sum: UInt64
        var isCommit: Bool
    }

    /// - Parameter path: of the log; a missing log counts as empty.
    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0 {
            if errno == ENOENT { return }
            throw .notWritable(path: path, reason: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: LogFrame.logHeaderSize)
        guard try Self.read(descriptor, &header, at: 0, path) else { return }
        let isBig = header[3] & 1 == 1
        let size = Int(LogFrame.number(header, 8))
        let sum = LogFrame.checksum(header[..<24], 0, isBig)
        hasHeader =
            LogFrame.number(header, 0) & ~1 == 0x377f_0682 && LogFrame.number(header, 4) == 3_007_000
            && size == LogFrame.pageSize
            && sum == LogFrame.long(header, 24)
        salts = LogFrame.salts(header, 16)
        try scan(descriptor, from: hasHeader ? sum : nil, isBig, path)
    }

    /// - Returns: whether the file has so many bytes there.
    private static func read(
        _ descriptor: Int32, _ bytes: inout [UInt8], at offset: Int, _ path: String
    ) throws(StoreError) -> Bool {
        let wanted = bytes.count
        let count = pread(descriptor, &bytes, wanted, off_t(offset))
        let code = errno
        // What the disk can't read is not the end of the log.
        if count < 0 { throw .inputOutput(reason: "\(path): \(String(cString: strerror(code)))") }
        return count == wanted
    }

    private mutating func scan(
        _ descriptor: Int32, from start: UInt64?, _ isBig: Bool, _ path: String
    ) throws(StoreError) {
        var frame = [UInt8](repeating: 0, count: LogFrame.headerSize + LogFrame.pageSize)
        var sum = start
        // After a damaged page: the checksums that the next page may continue.
        var links: [Link] = []
        var number = 0
        var firstDamaged = start == nil ? 0 : nil as Int?
        let size = frame.count
        while try Self.read(descriptor, &frame, at: LogFrame.logHeaderSize + number * size, path) {
            number += 1
            // The salts of a damaged header are unreliable.
            if number == 1, start == nil { salts = LogFrame.salts(frame, 8) }
            let isOurs = LogFrame.salts(frame, 8) == salts
            let link = Link(sum: LogFrame.long(frame, 16), isCommit: LogFrame.number(frame, 4) != 0)
            func continued(from sum: UInt64) -> UInt64 {
                let head = LogFrame.checksum(frame[..<8], sum, isBig)
                return LogFrame.checksum(frame[LogFrame.headerSize...], head, isBig)
            }
            if let before = sum {
                let computed = continued(from: before)
                if isOurs, computed == link.sum {
                    sum = link.sum
                    if link.isCommit { committed = number }
                    continue
                }
                firstDamaged = number
                sum = nil
                // Either the content or the checksum of the page is damaged, so the right checksum is one of these two.
                links = [link, Link(sum: computed, isCommit: link.isCommit)]
            } else {
                if isOurs, links.contains(where: { $0.isCommit && continued(from: $0.sum) == link.sum }) {
                    damagedPage = firstDamaged
                    return
                }
                links = isOurs ? [link] : []
            }
        }
    }

    /// Describes what the log of a folder that no server uses has lost; `nil` if nothing is known to be lost.
    /// - Parameter wasInUse: `LockFile.logWasInUse`.
    static func problem(
        in folder: StoreFolder, _ bound: LogExtent.Bound, wasInUse: Bool
    ) throws(StoreError) -> String? {
        if wasInUse, folder.size(folder.log) == nil {
            return "herald.db-wal is missing, with the last commits before a crash"
        }
        return try LogScan(path: folder.log).problem(with: bound)
    }

    /// Describes the damage of a log with this minimum length; `nil` if none can be detected.
    func problem(with bound: LogExtent.Bound) -> String? {
        if let damagedPage {
            return (damagedPage == 0 ? "its header" : "page \(damagedPage)")
                + " is damaged, and acknowledged commits come after it"
        }
        guard bound.pages > 0 else { return nil }
        let known = "it held \(bound.pages) pages of acknowledged commits"
        if committed == 0, !hasHeader { return "\(known), and is missing, was cut, or has a damaged header" }
        if salts != bound.salts { return "\(known), and is another log now" }
        return committed < bound.pages ? "\(known), and has \(committed) that are intact" : nil
    }
}
