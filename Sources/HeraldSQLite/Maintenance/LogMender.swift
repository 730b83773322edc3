import CHeraldSQLite
import Glibc
import HeraldCore

/// Repairs a write-ahead log so that SQLite reads past a damaged page: it recomputes the checksums from there on. The
/// content of the damaged page remains wrong unless the log has a newer version of the page; the checksums of the
/// events detect that.
enum LogMender {
    /// - Parameters:
    ///   - path: of a copy of the log, which is changed.
    ///   - bound: the salts and the minimum length of the log.
    /// - Returns: the number of pages of intact and repaired transactions.
    static func mend(_ path: String, _ bound: LogExtent.Bound) throws -> Int {
        let file = try PlainFile(changing: path)
        let frameSize = LogFrame.headerSize + LogFrame.pageSize
        let count = max(0, (file.size - LogFrame.logHeaderSize) / frameSize)
        let scan = try LogScan(path: path)
        let salts = scan.hasHeader || bound.pages == 0 ? scan.salts : bound.salts
        guard count > 0 else { return 0 }
        // The last commit of this log.
        var last = 0
        for number in 1...count {
            let head = try file.read(LogFrame.headerSize, at: LogFrame.logHeaderSize + (number - 1) * frameSize)
            if LogFrame.salts(head, 8) == salts, LogFrame.number(head, 4) != 0 { last = number }
        }
        guard last > 0 else { return 0 }
        var header = try file.read(LogFrame.logHeaderSize, at: 0)
        if !scan.hasHeader {
            for (place, value) in [(0, 0x377f_0682), (4, 3_007_000), (8, UInt32(LogFrame.pageSize))] as [(Int, UInt32)]
            {
                header.replaceSubrange(place..<place + 4, with: LogFrame.bytes(value))
            }
            header.replaceSubrange(16..<24, with: LogFrame.bytes(saltsOf: salts))
        }
        let isBig = header[3] & 1 == 1
        var sum = LogFrame.checksum(header[..<24], 0, isBig)
        header.replaceSubrange(24..<32, with: LogFrame.bytes(sum: sum))
        try file.write(header, at: 0)
        for number in 1...last {
            let place = LogFrame.logHeaderSize + (number - 1) * frameSize
            var frame = try file.read(frameSize, at: place)
            frame.replaceSubrange(8..<16, with: LogFrame.bytes(saltsOf: salts))
            sum = LogFrame.checksum(frame[..<8], sum, isBig)
            sum = LogFrame.checksum(frame[LogFrame.headerSize...], sum, isBig)
            frame.replaceSubrange(16..<24, with: LogFrame.bytes(sum: sum))
            try file.write(frame, at: place)
        }
        return last
    }
}
