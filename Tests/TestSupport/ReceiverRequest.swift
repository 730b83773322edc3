import Glibc

/// A request as it came.
public struct ReceivedRequest: Sendable {
    /// 1 for the first connection that the receiver took.
    public let connection: Int
    public let method: String
    /// With the query.
    public let path: String
    /// In order, names as they were written.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// The first value of a header, whatever the case of its name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    public var text: String { String(decoding: body, as: UTF8.self) }
}

/// Takes one request after the other off a connection. Knows `Content-Length`, and no chunks.
struct RequestReader {
    let connection: Int32
    let number: Int
    private var buffer: [UInt8] = []

    init(connection: Int32, number: Int) {
        self.connection = connection
        self.number = number
    }

    /// `nil`: the connection ended.
    mutating func next() -> ReceivedRequest? {
        while true {
            if let end = endOfHead() { return request(headEnd: end) }
            guard readMore() else { return nil }
        }
    }

    private func endOfHead() -> Int? {
        let mark: [UInt8] = [13, 10, 13, 10]
        guard buffer.count >= 4 else { return nil }
        return (0...buffer.count - 4).first { buffer[$0..<$0 + 4].elementsEqual(mark) }
    }

    private mutating func request(headEnd: Int) -> ReceivedRequest? {
        // As a Swift character CR LF is one.
        let lines = String(decoding: buffer[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        let headers = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
            return (name: String(parts[0]), value: String(value))
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        while buffer.count < headEnd + 4 + length {
            guard readMore() else { return nil }
        }
        let body = Array(buffer[(headEnd + 4)..<(headEnd + 4 + length)])
        buffer.removeFirst(headEnd + 4 + length)
        return ReceivedRequest(
            connection: number, method: String(words[0]), path: String(words[1]), headers: headers, body: body)
    }

    private mutating func readMore() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(connection, &chunk, chunk.count)
        guard count > 0 else { return false }
        buffer.append(contentsOf: chunk[..<count])
        return true
    }
}
