extension Scanner {
    /// A key and its colon, up to the value.
    @inline(__always)
    mutating func scanKey(orElse expected: StaticString) throws(JSONError) {
        guard bytes[at] == UInt8(ascii: "\"") else { throw failure(.expected(expected.description), at: at) }
        at &+= 1
        keyStart = at
        keyEscaped = try scanString()
        keyEnd = at &- 1
        let hash: UInt32
        if keyEscaped {
            hash = try hashEscapedKey()
        } else {
            guard keyEnd &- keyStart <= limits.keyBytes else { throw keyTooLong() }
            hash = keyTable.hash(bytes + keyStart, count: keyEnd &- keyStart)
        }
        keyHash = UInt16(truncatingIfNeeded: hash)
        // Its value becomes the next node. Every earlier key has its node already, so there is space for the entry too.
        guard nodeCount < nodeLimit else { throw failure(.tooManyValues(limit: limits.values), at: keyStart - 1) }
        keys[keyCount] = KeyEntry(hash: hash, node: UInt32(truncatingIfNeeded: nodeCount))
        keyCount &+= 1

        skipWhitespace()
        guard bytes[at] == UInt8(ascii: ":") else { throw failure(.expected("':'"), at: at) }
        at &+= 1
        skipWhitespace()
    }

    @inline(never)
    private func hashEscapedKey() throws(JSONError) -> UInt32 {
        // Six bytes of text make at least one byte of the key, so the copy is bounded too.
        guard (keyEnd - keyStart) / 6 <= limits.keyBytes else { throw keyTooLong() }
        let key = unescaped(keyStart..<keyEnd, padding: Tape.padding)
        let count = key.count - Tape.padding
        guard count <= limits.keyBytes else { throw keyTooLong() }
        return key.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return keyTable.hash(base, count: count)
        }
    }

    private func keyTooLong() -> JSONError { failure(.keyTooLong(limit: limits.keyBytes), at: keyStart - 1) }

    /// Searches for duplicate keys in an object that ends here.
    @inline(__always)
    mutating func refuseDuplicates(from first: Int) throws(JSONError) {
        let count = keyCount &- first
        if count > 16 {
            try refuseDuplicatesOfMany(from: first)
        } else if count > 1 {
            for later in (first &+ 1)..<keyCount {
                let hash = keys[later].hash
                for earlier in first..<later where keys[earlier].hash == hash {
                    try refuseEqual(keys[earlier], keys[later])
                }
            }
        }
    }

    /// Uses a table, so that the time is linear in the number of keys and not quadratic.
    @inline(never)
    private func refuseDuplicatesOfMany(from first: Int) throws(JSONError) {
        var table = KeyTable.Slots(count: keyCount - first)
        for index in first..<keyCount {
            let entry = keys[index]
            while let other = table.insert(UInt32(truncatingIfNeeded: index), hash: entry.hash) {
                if keys[Int(other)].hash == entry.hash { try refuseEqual(keys[Int(other)], entry) }
            }
        }
    }

    /// Compares keys with equal hashes.
    @inline(never)
    private func refuseEqual(_ earlier: KeyEntry, _ later: KeyEntry) throws(JSONError) {
        let one = nodes[Int(earlier.node)]
        let two = nodes[Int(later.node)]
        let key = unescaped(two.keyRange)
        guard unescaped(one.keyRange) == key else { return }
        throw failure(.duplicateKey(String(decoding: key, as: UTF8.self)), at: Int(two.keyStart) - 1)
    }

    /// The text with its escapes resolved, padded with zeros.
    private func unescaped(_ range: Range<Int>, padding: Int = 0) -> [UInt8] {
        let text = UnsafeBufferPointer(start: bytes + range.lowerBound, count: range.count)
        return [UInt8](unsafeUninitializedCapacity: range.count + padding) { buffer, count in
            count = unescape(text, into: buffer)
            for index in 0..<padding { buffer.initializeElement(at: count + index, to: 0) }
            count += padding
        }
    }
}
