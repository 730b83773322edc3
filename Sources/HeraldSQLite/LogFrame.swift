import CHeraldSQLite

/// The format of a write-ahead log (https://sqlite.org/fileformat2.html#the_write_ahead_log): a header, then a frame
/// with a header of its own for each page. Numbers are big-endian.
enum LogFrame {
    /// The page size of Herald's databases, in bytes.
    static let pageSize = 4096
    static let logHeaderSize = 32
    static let headerSize = 24

    /// Where a page begins in the file.
    /// - Parameter number: from 1.
    static func place(ofPage number: Int) -> Int { logHeaderSize + (number - 1) * (headerSize + pageSize) }

    static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    static func long(_ bytes: [UInt8], _ place: Int) -> UInt64 {
        UInt64(number(bytes, place)) << 32 | UInt64(number(bytes, place + 4))
    }

    /// In the byte order of `Connection.logSalts`.
    static func salts(_ bytes: [UInt8], _ place: Int) -> UInt64 { long(bytes, place).byteSwapped }

    /// - Parameter before: the checksum of all preceding bytes; 0 at the beginning.
    static func checksum(_ bytes: ArraySlice<UInt8>, _ before: UInt64, _ isBig: Bool) -> UInt64 {
        var first = UInt32(before >> 32)
        var second = UInt32(truncatingIfNeeded: before)
        bytes.withUnsafeBufferPointer {
            herald_sqlite_log_checksum($0.baseAddress, Int32($0.count), isBig ? 1 : 0, &first, &second)
        }
        return UInt64(first) << 32 | UInt64(second)
    }
}
