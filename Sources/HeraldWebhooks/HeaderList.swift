import CHeraldCurl

/// Header lines in libcurl's format, in memory that Herald owns: libcurl only reads them.
final class HeaderList {
    /// The first entry, which the others follow in memory. Valid for the lifetime of this object.
    let first: UnsafeMutablePointer<curl_slist>
    private let text: UnsafeMutablePointer<CChar>
    private let rest: HeaderList?

    /// - Parameters:
    ///   - lines: at least one.
    ///   - rest: the lines that follow; other lists may share them.
    init(_ lines: [String], before rest: HeaderList? = nil) {
        self.rest = rest
        first = .allocate(capacity: max(lines.count, 1))
        text = .allocate(capacity: lines.reduce(1) { $0 + $1.utf8.count + 1 })
        first.initialize(to: curl_slist(data: text, next: rest?.first))
        text.initialize(to: 0)
        var free = text
        for (index, line) in lines.enumerated() {
            first[index] = curl_slist(data: free, next: index + 1 < lines.count ? first + index + 1 : rest?.first)
            for byte in line.utf8 {
                free.pointee = CChar(bitPattern: byte)
                free += 1
            }
            free.pointee = 0
            free += 1
        }
    }

    deinit {
        first.deallocate()
        text.deallocate()
    }

    /// Copies of the lines of a list.
    static func lines(_ first: UnsafeMutablePointer<curl_slist>) -> [String] {
        sequence(first: first) { $0.pointee.next }.compactMap { $0.pointee.data.map { String(cString: $0) } }
    }
}

/// Checks which texts may be sent in a header. A second check after `CallbackHeaderRules`, because libcurl accepts line
/// breaks.
enum HeaderText {
    /// A line in libcurl's format. The form with a semicolon makes libcurl send an empty value.
    static func line(_ name: String, _ value: String) -> String {
        value.allSatisfy { $0 == " " || $0 == "\t" } ? "\(name);" : "\(name): \(value)"
    }

    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
    }
}
