/// Checks the lines between the chunks of a body. libmicrohttpd 0.9.75 also accepts a bare LF as the end of a chunk and
/// of its size, even after an extension, where other parsers read on: the body ends elsewhere for them, and the rest is
/// a request for one of the two. The library does not show these lines, but it passes each chunk in its read buffer,
/// directly after the line with its size.
///
/// A line that arrived before any byte of its chunk is overwritten and can't be checked. So a chunked request is also
/// the last one on its connection (`ClientConnection.isLast`): nothing after it is parsed as another one.
struct ChunkLayout {
    /// The size, its extension and CR LF.
    private static let maxLine = 256

    /// The library's read buffer. It moves the remaining bytes there after it has passed the rest.
    private let buffer: UnsafePointer<UInt8>

    /// - Parameter end: the end of the header section.
    init(behind end: UnsafePointer<UInt8>) { buffer = end }

    /// Whether the line before a piece of the body, if it can be checked, is `size` or `size;extension` with CR LF on
    /// both sides. Must be called while the piece is in the library's buffer.
    func isSound(before piece: UnsafePointer<UInt8>) -> Bool {
        let count = piece - buffer
        // A piece at the start of the buffer continues a chunk, or its line was overwritten.
        guard count > 0 else { return true }
        let bytes = UnsafeBufferPointer(start: buffer, count: count)
        guard bytes.hasLineEnd(at: count) else { return false }
        let lineEnd = count - 2
        var start = lineEnd
        while start > 0, bytes[start - 1] != UInt8(ascii: "\n") {
            start -= 1
            if count - start > Self.maxLine { return false }
        }
        // The line ending of the previous chunk.
        if start > 0, !bytes.hasLineEnd(at: start) { return false }
        let line = bytes[start..<lineEnd]
        let size = line.prefix { $0 != UInt8(ascii: ";") }
        return !size.isEmpty && size.allSatisfy(isHexadecimal) && line.dropFirst(size.count).allSatisfy(isValueByte)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether CR LF precedes this index.
    fileprivate func hasLineEnd(at place: Int) -> Bool {
        place >= 2 && self[place - 2] == UInt8(ascii: "\r") && self[place - 1] == UInt8(ascii: "\n")
    }
}

private func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
        UInt8(ascii: "a")...UInt8(ascii: "f"):
        true
    default: false
    }
}
