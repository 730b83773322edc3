import CHeraldCurl

/// Lines in the form in which libcurl takes them, in memory of our own: libcurl only reads them.
final class HeaderList {
    private let nodes: UnsafeMutablePointer<curl_slist>
    private let text: UnsafeMutablePointer<CChar>
    private let rest: HeaderList?

    /// - Parameters:
    ///   - lines: at least one.
    ///   - rest: what follows them; may follow others too.
    init(_ lines: [String], before rest: HeaderList? = nil) {
        self.rest = rest
        nodes = .allocate(capacity: max(lines.count, 1))
        text = .allocate(capacity: lines.reduce(1) { $0 + $1.utf8.count + 1 })
        nodes.initialize(to: curl_slist(data: text, next: rest?.first))
        text.initialize(to: 0)
        var free = text
        for (index, line) in lines.enumerated() {
            nodes[index] = curl_slist(data: free, next: index + 1 < lines.count ? nodes + index + 1 : rest?.first)
            for byte in line.utf8 {
                free.pointee = CChar(bitPattern: byte)
                free += 1
            }
            free.pointee = 0
            free += 1
        }
    }

    deinit {
        nodes.deallocate()
        text.deallocate()
    }

    /// Valid as long as this object.
    var first: UnsafeMutablePointer<curl_slist> { nodes }
}

/// Which texts may stand in a header: the second gate behind `CallbackHeaderRules`, since libcurl lets line breaks through.
enum HeaderText {
    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
    }
}
