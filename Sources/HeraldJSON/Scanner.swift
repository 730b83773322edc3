/// One pass over the bytes: checks the grammar and writes the tape. Lives for one text, on the stack.
///
/// It reads words of eight bytes without bounds checks: ``Tape`` explains why that is safe.
struct Scanner {
    let bytes: UnsafePointer<UInt8>
    let end: Int
    let nodes: UnsafeMutablePointer<Node>
    let nodeLimit: Int
    let keys: UnsafeMutablePointer<KeyEntry>
    let frames: UnsafeMutablePointer<Frame>
    let limits: JSONLimits
    let keyTable: KeyTable

    /// The index of the next byte.
    var at = 0
    var nodeCount = 0
    var keyCount = 0
    var depth = 0

    /// The key of the next value.
    var keyStart = 0
    var keyEnd = 0
    var keyEscaped = false
    var keyHash: UInt16 = 0

    /// The whole text: one value surrounded by white space.
    mutating func scan() throws(JSONError) {
        skipWhitespace()
        if at == end { throw failure(.empty, at: at) }
        repeat {
            try scanValue()
            try scanAfterValue()
        } while depth > 0
        skipWhitespace()
        if at != end { throw failure(.textAfterValue, at: at) }
    }

    /// A scalar, an empty container, or the start of a container up to its first value.
    @inline(__always)
    private mutating func scanValue() throws(JSONError) {
        while true {
            switch bytes[at] {
            case UInt8(ascii: "\""):
                let start = at
                at += 1
                let escaped = try scanString()
                try append(.string, escaped ? .escaped : [], from: start)
            case UInt8(ascii: "{"):
                try open(.object)
                if bytes[at] == UInt8(ascii: "}") { return try close() }
                try scanKey(orElse: "a key or '}'")
                continue
            case UInt8(ascii: "["):
                try open(.array)
                if bytes[at] == UInt8(ascii: "]") { return try close() }
                continue
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = at
                let isInteger = try scanNumber()
                try append(.number, isInteger ? .integer : [], from: start)
            case UInt8(ascii: "t"):
                try scanLiteral(0x6575_7274, count: 4, .bool, .isTrue, "'true'")
            case UInt8(ascii: "f"):
                try scanLiteral(0x65_736c_6166, count: 5, .bool, [], "'false'")
            case UInt8(ascii: "n"):
                try scanLiteral(0x6c6c_756e, count: 4, .null, [], "'null'")
            default:
                throw unexpectedValue()
            }
            return
        }
    }

    /// Closes containers up to the next value, or the end of the text.
    @inline(__always)
    private mutating func scanAfterValue() throws(JSONError) {
        while depth > 0 {
            skipWhitespace()
            let byte = bytes[at]
            let isObject = frames[depth - 1].isObject
            if byte == UInt8(ascii: ",") {
                at += 1
                skipWhitespace()
                if isObject { try scanKey(orElse: "a key") }
                return
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw failure(.expected(isObject ? "',' or '}'" : "',' or ']'"), at: at)
            }
            try close()
        }
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while bytes[at] <= 0x20 {
            switch bytes[at] {
            case 0x20, 0x0a, 0x0d, 0x09: at += 1
            default: return
            }
        }
    }

    @inline(__always)
    private mutating func scanLiteral(
        _ word: UInt64, count: Int, _ kind: JSONKind, _ flags: Node.Flags, _ name: StaticString
    ) throws(JSONError) {
        let mask: UInt64 = (1 &<< UInt64(8 * count)) &- 1
        guard loadWord(bytes + at) & mask == word else { throw failure(.expected(name.description), at: at) }
        let start = at
        at += count
        try append(kind, flags, from: start)
    }
}

// MARK: - Writing the tape

extension Scanner {
    /// Writes the node of a completed value.
    @inline(__always)
    private mutating func append(_ kind: JSONKind, _ flags: Node.Flags, from start: Int) throws(JSONError) {
        guard nodeCount < nodeLimit else { throw failure(.tooManyValues(limit: limits.values), at: start) }
        nodes[nodeCount] = Node(
            kind: kind, flags: keyEscaped ? flags.union(.keyEscaped) : flags, keyHash: keyHash,
            keyStart: UInt32(truncatingIfNeeded: keyStart), keyCount: UInt32(truncatingIfNeeded: keyEnd &- keyStart),
            start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: at),
            next: UInt32(truncatingIfNeeded: nodeCount &+ 1), count: 0)
        nodeCount &+= 1
        if depth > 0 { frames[depth - 1].count &+= 1 }
    }

    @inline(__always)
    private mutating func open(_ kind: JSONKind) throws(JSONError) {
        guard depth < limits.depth else { throw failure(.tooDeep(limit: limits.depth), at: at) }
        try append(kind, [], from: at)
        frames[depth] = Frame(node: nodeCount - 1, count: 0, firstKey: keyCount, isObject: kind == .object)
        depth += 1
        (keyStart, keyEnd, keyEscaped) = (0, 0, false)
        at += 1
        skipWhitespace()
    }

    @inline(__always)
    private mutating func close() throws(JSONError) {
        depth -= 1
        let frame = frames[depth]
        if frame.isObject {
            try refuseDuplicates(from: frame.firstKey)
            keyCount = frame.firstKey
        }
        at += 1
        nodes[frame.node].end = UInt32(truncatingIfNeeded: at)
        nodes[frame.node].next = UInt32(truncatingIfNeeded: nodeCount)
        nodes[frame.node].count = UInt32(truncatingIfNeeded: frame.count)
        // Following elements have no key; members set their own.
        (keyStart, keyEnd, keyEscaped) = (0, 0, false)
    }
}

// MARK: - Errors

extension Scanner {
    @inline(never)
    func failure(_ reason: JSONError.Reason, at offset: Int) -> JSONError {
        var line = 1
        var lineStart = 0
        for index in 0..<min(offset, end) where bytes[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        return JSONError(reason: reason, offset: offset, line: line, column: offset - lineStart + 1)
    }

    @inline(never)
    private func unexpectedValue() -> JSONError {
        if at == 0 {
            switch (bytes[0], bytes[1], bytes[2]) {
            case (0xef, 0xbb, 0xbf), (0xfe, 0xff, _), (0xff, 0xfe, _): return failure(.byteOrderMark, at: 0)
            default: break
            }
        }
        let maybeEmptyArray = nodeCount > 0 && depth > 0 && frames[depth - 1].count == 0 && !frames[depth - 1].isObject
        return failure(.expected(maybeEmptyArray ? "a value or ']'" : "a value"), at: at)
    }
}

/// Eight bytes as a little-endian word.
@inline(__always)
func loadWord(_ pointer: UnsafePointer<UInt8>) -> UInt64 {
    UInt64(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt64.self))
}
