extension Node {
    /// The key between its quotes.
    var keyRange: Range<Int> { Int(keyStart)..<Int(keyStart) + Int(keyCount) }

    /// A string between its quotes.
    var contentRange: Range<Int> { Int(start) + 1..<Int(end) - 1 }
}

extension Tape {
    func withBytes<Result>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        // The bytes belong to the tape, which must outlive the closure.
        withExtendedLifetime(self) { body(text(range)) }
    }

    /// Only for use inside the tape, because it does not keep the tape alive.
    private func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
    }

    func string(_ range: Range<Int>, escaped: Bool) -> String {
        withBytes(range) { text in
            guard escaped else { return String(decoding: text, as: UTF8.self) }
            return String(unsafeUninitializedCapacity: text.count) { unescape(text, into: $0) }
        }
    }

    func withUTF8<Result>(
        _ range: Range<Int>, escaped: Bool, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        withBytes(range) { text in
            guard escaped else { return body(text) }
            return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
                let count = unescape(text, into: buffer)
                return body(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[..<count]))
            }
        }
    }

    func equals(_ range: Range<Int>, escaped: Bool, _ other: String) -> Bool {
        other.utf8.span.withUnsafeBufferPointer { other in withUTF8(range, escaped: escaped) { areEqual($0, other) } }
    }

    /// The child of the object with this key.
    func child(of parent: Int, key: UnsafeBufferPointer<UInt8>) -> Int? {
        // Of the keys with escapes, only those that are probably equal are resolved.
        var hash: UInt16?
        var index = parent + 1
        let end = Int(nodes[parent].next)
        while index < end {
            let node = nodes[index]
            if node.flags.contains(.keyEscaped) {
                let wanted = hash ?? KeyTable().nodeHash(of: key)
                hash = wanted
                if wanted == node.keyHash, withUTF8(node.keyRange, escaped: true, { areEqual($0, key) }) {
                    return index
                }
            } else if Int(node.keyCount) == key.count, areEqual(text(node.keyRange), key) {
                return index
            }
            index = Int(node.next)
        }
        return nil
    }
}

/// By words: a search counts half a step for each key that it passes, and many may differ in their last byte only.
@inline(__always)
private func areEqual(_ one: UnsafeBufferPointer<UInt8>, _ two: UnsafeBufferPointer<UInt8>) -> Bool {
    guard one.count == two.count else { return false }
    let (words, others) = (UnsafeRawBufferPointer(one), UnsafeRawBufferPointer(two))
    var index = 0
    while index &+ 8 <= one.count {
        let word = words.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if word != others.loadUnaligned(fromByteOffset: index, as: UInt64.self) { return false }
        index &+= 8
    }
    while index < one.count {
        if one[index] != two[index] { return false }
        index &+= 1
    }
    return true
}
