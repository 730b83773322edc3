import HeraldRuntime

/// Parses the requests of a connection one after the other. A value.
struct HTTP1Parser {
    enum Result {
        case request(ReceivedRequest)
        case incomplete
        /// The client waits for `100 Continue` before it sends the body. Reported once.
        case awaitsContinue
        /// The rest of the connection can't be parsed.
        case malformed(status: Int, String)
    }

    private enum Framing {
        case length(Int)
        case chunks
        /// After the last chunk.
        case trailers
    }

    private let maxBodyBytes: Int
    private var buffer: [UInt8] = []
    /// The bytes before this index are parsed. They are removed together, because each removal moves the others.
    private var start = 0
    /// The number of buffered bytes already searched for the end of the header section.
    private var searched = 0
    private var request: ReceivedRequest?
    private var framing = Framing.length(0)
    /// Whether the client wants to close the connection after the response to the newest request.
    private(set) var isLast = false

    init(maxBodyBytes: Int) {
        self.maxBodyBytes = maxBodyBytes
    }

    var bufferedBytes: Int { buffer.count - start }

    mutating func append(_ bytes: ArraySlice<UInt8>) {
        buffer.append(contentsOf: bytes)
    }

    mutating func next() -> Result {
        if request == nil {
            // Clients may send an empty line after a body.
            var first = start
            while first + 1 < buffer.count, buffer[first] == 13, buffer[first + 1] == 10 { first += 2 }
            take(first - start)
            guard let end = endOfHead() else {
                return bufferedBytes <= ConversationLimits.headBytes
                    ? .incomplete : .malformed(status: 431, "The header section is larger than 64 KiB.")
            }
            let lines = buffer[start..<end].split(separator: 10).map { $0.last == 13 ? $0.dropLast() : $0 }
            take(end - start)
            searched = 0
            do throws(Malformed) {
                try begin(lines)
            } catch {
                return .malformed(status: error.status, error.what)
            }
            let expectation = request?.header("expect")?.lowercased()
            if expectation == "100-continue", bufferedBytes == 0 { return .awaitsContinue }
        }
        do throws(Malformed) {
            guard try takeBody(), let complete = request else { return .incomplete }
            request = nil
            return .request(complete)
        } catch {
            return .malformed(status: error.status, error.what)
        }
    }

    private struct Malformed: Error {
        var status = 400
        let what: String
    }

    private mutating func take(_ count: Int) {
        start += count
        let isMost = start >= ConversationLimits.headBytes && start * 2 >= buffer.count
        guard isMost || start == buffer.count else { return }
        buffer.removeFirst(start)
        start = 0
    }

    /// The index after the header section.
    private mutating func endOfHead() -> Int? {
        var index = start + max(searched, 3)
        while index < buffer.count {
            if buffer[index] == 10, buffer[index - 1] == 13, buffer[index - 2] == 10, buffer[index - 3] == 13 {
                return index + 1
            }
            index += 1
        }
        searched = index - start
        return nil
    }

    private mutating func begin(_ lines: [ArraySlice<UInt8>]) throws(Malformed) {
        let words = (lines.first ?? []).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, words[2].hasPrefix("HTTP/1."), !words[0].isEmpty, !words[1].isEmpty else {
            throw Malformed(what: "The request line is not METHOD TARGET HTTP/1.1.")
        }
        var headers: [(name: String, value: String)] = []
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
                throw Malformed(what: "A header line has no name.")
            }
            headers.append((String(decoding: line[..<colon], as: UTF8.self), Self.trimmed(line[(colon + 1)...])))
        }
        let new = ReceivedRequest(version: .http1, method: words[0], path: words[1], headers: headers)
        let connection = new.header("connection")?.lowercased() ?? ""
        isLast = words[2] == "HTTP/1.0" ? !connection.holds("keep-alive") : connection.holds("close")
        if let coding = new.header("transfer-encoding") {
            guard coding.lowercased() == "chunked" else {
                throw Malformed(status: 501, what: "The only transfer coding that is understood is chunked.")
            }
            framing = .chunks
        } else if let text = new.header("content-length") {
            guard let length = Int(text), length >= 0 else { throw Malformed(what: "Content-Length is no number.") }
            guard length <= maxBodyBytes else { throw tooLarge }
            framing = .length(length)
        } else {
            framing = .length(0)
        }
        request = new
    }

    private var tooLarge: Malformed { Malformed(status: 413, what: "The body is larger than \(maxBodyBytes) bytes.") }

    /// - Returns: whether the body is complete.
    private mutating func takeBody() throws(Malformed) -> Bool {
        while true {
            switch framing {
            case .length(let length):
                guard bufferedBytes >= length else { return false }
                request?.body = Array(buffer[start..<(start + length)])
                take(length)
                return true
            case .chunks:
                guard let line = try peekLine() else { return false }
                let digits = line.text.prefix { $0 != ";" && $0 != " " }
                guard let size = Int(digits, radix: 16), size >= 0 else {
                    throw Malformed(what: "The size of a chunk is no number.")
                }
                guard size <= maxBodyBytes - (request?.body.count ?? 0) else { throw tooLarge }
                if size == 0 {
                    take(line.length)
                    framing = .trailers
                    continue
                }
                guard bufferedBytes >= line.length + size + 2 else { return false }
                let first = start + line.length
                request?.body += buffer[first..<(first + size)]
                take(line.length + size + 2)
            case .trailers:
                guard let line = try peekLine() else { return false }
                take(line.length)
                if line.text.isEmpty { return true }
            }
        }
    }

    /// The next line, without its line break, and its length with it.
    private func peekLine() throws(Malformed) -> (text: String, length: Int)? {
        guard let end = buffer[start...].prefix(4096).firstIndex(of: 10) else {
            if bufferedBytes >= 4096 { throw Malformed(what: "The line before a chunk is too long.") }
            return nil
        }
        let line = buffer[start..<end]
        return (String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self), end + 1 - start)
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> String {
        String(decoding: value.trimmed { $0 == 32 || $0 == 9 }, as: UTF8.self)
    }
}
