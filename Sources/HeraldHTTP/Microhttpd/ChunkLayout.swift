/// Whether the lines between the chunks of a body are exactly right. libmicrohttpd 0.9.75 also takes a bare LF for the end of a
/// chunk and of its size, behind an extension too, where others read on: the body ends elsewhere for them, and what follows
/// is a request for one of the two. It doesn't show these lines, but it hands out each chunk where it came in, right
/// behind the line with its size.
///
/// A line that came in before any byte of its chunk is overwritten by then, and can't be seen. So a request in chunks is also
/// the last one on its connection (`ClientConnection.isLast`): nothing behind it is ever taken for another one.
struct ChunkLayout {
    /// Of the size, its extension and CR LF.
    private static let maxLine = 256

    /// Where the library reads the body to. It moves what is left there when it has handed out the rest.
    private let buffer: UnsafePointer<UInt8>

    /// - Parameter end: of the head.
    init(behind end: UnsafePointer<UInt8>) { buffer = end }

    /// Whether the line in front of a piece of the body, if it can be seen, is `size` or `size;extension` with CR LF on both
    /// sides. To be called while the piece is where the library put it.
    func isSound(before piece: UnsafePointer<UInt8>) -> Bool {
        let count = piece - buffer
        // A piece at the beginning goes on with a chunk, or its line is gone.
        guard count > 0 else { return true }
        let bytes = UnsafeBufferPointer(start: buffer, count: count)
        guard bytes.hasLineEnd(at: count) else { return false }
        let lineEnd = count - 2
        var start = lineEnd
        while start > 0, bytes[start - 1] != UInt8(ascii: "\n") {
            start -= 1
            if count - start > Self.maxLine { return false }
        }
        // The line end of the chunk before.
        if start > 0, !bytes.hasLineEnd(at: start) { return false }
        let line = bytes[start..<lineEnd]
        let size = line.prefix { $0 != UInt8(ascii: ";") }
        return !size.isEmpty && size.allSatisfy(isHexadecimal) && line.dropFirst(size.count).allSatisfy(isValueByte)
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether CR LF stands right before this place.
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
