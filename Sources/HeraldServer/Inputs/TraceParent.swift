/// The request header `traceparent` (https://www.w3.org/TR/trace-context/): `00-<trace id>-<parent id>-<flags>`.
enum TraceParent {
    static let name = "traceparent"
    private static let maxBytes = 128

    /// Whether it is one that may be handed on. What is none is ignored, as the specification asks.
    static func isValid(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= maxBytes, parts.count >= 4,
            isHex(parts[0], 2), parts[0] != "ff",
            isHex(parts[1], 32), parts[1].contains(where: { $0 != "0" }),
            isHex(parts[2], 16), parts[2].contains(where: { $0 != "0" }),
            isHex(parts[3], 2)
        else { return false }
        // Later versions may say more behind the flags.
        return parts[0] != "00" ? text.utf8.allSatisfy { (0x21...0x7e).contains($0) } : parts.count == 4
    }

    private static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
