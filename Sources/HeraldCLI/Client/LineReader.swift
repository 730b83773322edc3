import Glibc

/// Lines of standard input, as they arrive.
struct LineReader {
    private var buffer: [UInt8] = []
    /// The index of the first byte that was not returned.
    private var start = 0
    private var isAtEnd = false
    /// The number of the last returned line, from 1.
    private(set) var number = 0

    /// Whether `next` returns without waiting.
    var isReady: Bool {
        if isAtEnd || buffer[start...].contains(10) { return true }
        var entry = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) != 0
    }

    /// The next line, without its line break; `nil` after the last one. Waits for it.
    mutating func next() throws(CommandError) -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 10) {
                defer { start = end + 1 }
                number += 1
                return Array(buffer[start..<end])
            }
            if isAtEnd {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                number += 1
                return Array(buffer[start...])
            }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            guard buffer.count <= Input.maxBytes else {
                throw CommandError(
                    "Line \(number + 1) is longer than \(Input.maxBytes >> 20) MiB.", exitCode: ExitCode.data)
            }
            try fill()
        }
    }

    private mutating func fill() throws(CommandError) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(0, &bytes, bytes.count)
        if count < 0, errno == EINTR { return }
        guard count >= 0 else { throw Input.unreadable("The standard input") }
        isAtEnd = count == 0
        buffer += bytes[..<count]
    }
}
