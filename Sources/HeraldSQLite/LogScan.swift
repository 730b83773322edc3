import Glibc
import HeraldCore

/// A look through a write-ahead log before SQLite opens it: SQLite takes everything behind the first damaged page for the end
/// that a crash has torn, and forgets it without a word.
///
/// Each commit is flushed before the next one is written. So where a page continues a commit, that commit was
/// durable, and everything before it was. A damaged page before such a place is damage; one with nothing
/// but pages of its own transaction behind it is a torn end. Whether the last transaction of a log is torn or damaged only
/// `LogExtent` knows.
struct LogScan: Equatable {
    /// As they stand in the file.
    private(set) var salts: UInt64 = 0
    /// The bytes of the header are there and fit its checksum.
    private(set) var hasHeader = false
    /// Pages of intact transactions from the beginning on: what SQLite would read.
    private(set) var committed = 0
    /// The first page that is not what was written, counted from 1, when acknowledged commits come after it. 0: the header.
    private(set) var damagedPage: Int?

    /// The checksum of a log up to a place, and whether a transaction ends there.
    private struct Link {
        var sum: UInt64
        var isCommit: Bool
    }

    /// - Parameter path: of the log; one that is missing is empty.
    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0 {
            if errno == ENOENT { return }
            throw .notWritable(path: path, reason: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: LogFrame.logHeaderSize)
        guard pread(descriptor, &header, header.count, 0) == header.count else { return }
        let isBig = header[3] & 1 == 1
        let size = Int(LogFrame.number(header, 8))
        let sum = LogFrame.checksum(header[..<24], 0, isBig)
        hasHeader =
            LogFrame.number(header, 0) & ~1 == 0x377f_0682 && LogFrame.number(header, 4) == 3_007_000
            && size == LogFrame.pageSize
            && sum == LogFrame.long(header, 24)
        salts = LogFrame.salts(header, 16)
        scan(descriptor, from: hasHeader ? sum : nil, isBig)
    }

    private mutating func scan(_ descriptor: Int32, from start: UInt64?, _ isBig: Bool) {
        var frame = [UInt8](repeating: 0, count: LogFrame.headerSize + LogFrame.pageSize)
        var sum = start
        // Behind a damaged page: where the next one may continue.
        var links: [Link] = []
        var number = 0
        var firstDamaged = start == nil ? 0 : nil as Int?
        while pread(descriptor, &frame, frame.count, off_t(LogFrame.logHeaderSize + number * frame.count))
            == frame.count
        {
            number += 1
            // Nobody believes the salts of a damaged header.
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
                // Either its content or its checksum is damaged, so what it should have been is one of these two.
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

    /// What is wrong with a log that must reach so far at least; `nil`: nothing, or nothing that can be known.
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
