/// A file of settings: lines `NAME=value` with the names of the variables, in the format of a systemd `EnvironmentFile`
/// (systemd.exec(5)), so that the same file serves a unit and `--config`.
struct SettingsFile {
    struct Entry: Equatable {
        let variable: String
        let value: String
        /// From 1.
        let line: Int
    }

    struct Mistake: Error, Equatable {
        let line: Int
        /// Completes "line 3 …".
        let problem: String
    }

    let path: String
    let entries: [Entry]

    /// - Throws: a description, if the file cannot be read or is no file of settings.
    init(_ path: String) throws(CommandError) {
        let bytes = try Input.file(path)
        self.path = path
        do throws(Mistake) {
            entries = try Self.entries(bytes)
        } catch {
            throw CommandError("Line \(error.line) of \(path) \(error.problem).", exitCode: ExitCode.usage)
        }
    }

    /// Quotes begin at the begin of a value only. A backslash takes the next character literally, and joins two lines.
    static func entries(_ bytes: [UInt8]) throws(Mistake) -> [Entry] {
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw Mistake(line: 1, problem: "or another one is not text in UTF-8")
        }
        var reader = Reader(bytes: bytes)
        var entries: [Entry] = []
        while let entry = try reader.next() { entries.append(entry) }
        return entries
    }

    private struct Reader {
        let bytes: [UInt8]
        var index = 0
        var line = 1

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        private static func isEnd(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0d }

        private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

        private mutating func take() -> UInt8? {
            guard let taken = byte else { return nil }
            index += 1
            if taken == 0x0a { line += 1 }
            return taken
        }

        mutating func next() throws(Mistake) -> Entry? {
            while let first = byte {
                if Self.isBlank(first) || Self.isEnd(first) {
                    _ = take()
                } else if first == UInt8(ascii: "#") || first == UInt8(ascii: ";") {
                    while let byte, !Self.isEnd(byte) { _ = take() }
                } else {
                    return try entry()
                }
            }
            return nil
        }

        private mutating func entry() throws(Mistake) -> Entry {
            let start = line
            var name: [UInt8] = []
            while let byte, byte != UInt8(ascii: "="), !Self.isEnd(byte) {
                name.append(byte)
                _ = take()
            }
            guard take() == UInt8(ascii: "=") else { throw Mistake(line: start, problem: "has no =: write NAME=value") }
            while let last = name.last, Self.isBlank(last) { name.removeLast() }
            let value = try value(from: start)
            return Entry(
                variable: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self),
                line: start)
        }

        private mutating func value(from start: Int) throws(Mistake) -> [UInt8] {
            var value: [UInt8] = []
            while let byte, !Self.isEnd(byte) {
                switch byte {
                case _ where Self.isBlank(byte): _ = take()
                case UInt8(ascii: "'"), UInt8(ascii: "\""): try quoted(from: start, &value)
                default:
                    plain(&value)
                    return value
                }
            }
            return value
        }

        private mutating func plain(_ value: inout [UInt8]) {
            var kept = value.count
            while let byte, !Self.isEnd(byte) {
                _ = take()
                if byte == UInt8(ascii: "\\") {
                    guard let next = take() else { break }
                    if next != 0x0a { value.append(next) }
                    kept = value.count
                } else {
                    value.append(byte)
                    if !Self.isBlank(byte) { kept = value.count }
                }
            }
            value.removeSubrange(kept...)
        }

        private mutating func quoted(from start: Int, _ value: inout [UInt8]) throws(Mistake) {
            let quote = take()
            while let byte = take() {
                if byte == quote { return }
                guard quote == UInt8(ascii: "\""), byte == UInt8(ascii: "\\"), let next = take() else {
                    value.append(byte)
                    continue
                }
                if next == 0x0a { continue }
                if !Self.escaped.contains(next) { value.append(byte) }
                value.append(next)
            }
            throw Mistake(line: start, problem: "has a quote that does not end")
        }

        /// The bytes that a backslash takes literally between double quotes.
        private static let escaped = Array("\"\\`$".utf8)
    }
}
