/// The rules for chunked bodies. libmicrohttpd 0.9.75 also accepts a bare LF as the end of a chunk, of its size and of a
/// trailer, where other parsers read on: the body ends elsewhere for them, and the rest is a request for one of the two.
/// The library does not show these lines. So the bytes of the body are checked here, as they are read from the socket.
///
/// A chunked request is also the last one on its connection (`ClientConnection.isLast`): nothing after it is parsed as
/// another one.
struct ChunkRules {
    private enum State {
        /// In the line with a size: before its first digit, after it, and in an extension.
        case size
        case moreSize
        case inExtension
        /// After CR.
        case endOfSize
        case data
        case afterData
        case endOfData
        /// After the last chunk: at the start of a line, and in one.
        case trailer
        case inTrailer
        case endOfTrailer
        case endOfAll
        case over
    }

    /// The size, its extension and CR LF.
    private static let maxLine = 256
    private static let (cr, lf): (UInt8, UInt8) = (0x0d, 0x0a)

    private var state = State.size
    /// The size of the chunk, as far as it was read; then the number of its missing bytes.
    private var size = 0
    private var lineLength = 0
    /// Whether all bytes so far follow the rules. What comes behind the body is not checked.
    private(set) var areKept = true

    /// The next bytes.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count, areKept, state != .over {
            if state == .data {
                let count = min(size, bytes.count - index)
                size -= count
                index += count
                if size == 0 { state = .afterData }
            } else {
                areKept = accept(bytes[index])
                index += 1
            }
        }
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        switch state {
        case .size, .moreSize, .inExtension: return acceptInSize(byte)
        case .endOfSize:
            state = size == 0 ? .trailer : .data
            return byte == Self.lf
        case .afterData:
            state = .endOfData
            return byte == Self.cr
        case .endOfData:
            (state, size, lineLength) = (.size, 0, 0)
            return byte == Self.lf
        case .trailer:
            state = byte == Self.cr ? .endOfAll : .inTrailer
            return byte != Self.lf
        case .inTrailer:
            if byte == Self.cr { state = .endOfTrailer }
            return byte == Self.cr || isValueByte(byte)
        case .endOfTrailer:
            state = .trailer
            return byte == Self.lf
        case .endOfAll:
            state = .over
            return byte == Self.lf
        case .data, .over: return true
        }
    }

    private mutating func acceptInSize(_ byte: UInt8) -> Bool {
        lineLength += 1
        if lineLength > Self.maxLine { return false }
        if byte == Self.cr, state != .size {
            state = .endOfSize
            return true
        }
        if state == .inExtension { return isValueByte(byte) }
        if byte == UInt8(ascii: ";"), state == .moreSize {
            state = .inExtension
            return true
        }
        guard let digit = hexadecimal(byte), size <= Int.max >> 4 else { return false }
        size = size << 4 | digit
        state = .moreSize
        return true
    }
}

private func hexadecimal(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 0x30
    case UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte | 0x20) - 0x57
    default: nil
    }
}
