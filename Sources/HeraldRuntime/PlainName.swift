extension String {
    /// Whether it is a name that URLs, shells and lists take as it is: one or more of A-Z, a-z, 0-9, `-`, `_` and `.`.
    /// - Parameter limit: the maximum number of characters.
    package func isPlainName(limit: Int) -> Bool {
        (1...limit).contains(utf8.count)
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
