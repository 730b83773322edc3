import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("Texts from outside on a terminal")
struct TerminalTextTests {
    /// Controls of both kinds, separators of lines, and changes of the direction of writing.
    private static let controls: [Unicode.Scalar] =
        ([
            0x00, 0x07, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E,
            0x2066, 0x2069,
        ]
        as [UInt32]).compactMap { Unicode.Scalar($0) }

    @Test("no character that controls a terminal is left, and other text stays as it is", arguments: controls)
    func printable(_ scalar: Unicode.Scalar) {
        let text = "a\(Character(scalar))b"
        let shown = text.printable(keepsLines: true)
        #expect(!shown.unicodeScalars.contains(scalar) && shown.hasPrefix("a\\u{") && shown.hasSuffix("}b"))
        #expect("Grüße, 世界 🎉".printable() == "Grüße, 世界 🎉")
    }

    @Test("JSON has escapes for them, and the same value", arguments: controls)
    func json(_ scalar: Unicode.Scalar) throws {
        let text = "é\(Character(scalar))世"
        var json = JSONWriter()
        json.object { $0.member(text, text) }
        let escaped = TerminalText.escaped(json.bytes)
        let shown = String(decoding: escaped, as: UTF8.self)
        #expect(!shown.unicodeScalars.contains(scalar) && shown.contains("é") && shown.contains("世"))
        #expect(try JSONDocument(parsing: escaped)[text]?.string == text)
    }

    @Test("a line of the log is one line, in both forms", arguments: controls)
    func log(_ scalar: Unicode.Scalar) {
        let line = LogLine(
            time: Timestamp(milliseconds: 0), level: .info, message: "hello",
            fields: ["what": "a\(Character(scalar))b\nc"])
        for format in [Log.Format.human, .json] {
            let text = line.text(format)
            #expect(!text.unicodeScalars.contains(scalar) && text.filter(\.isNewline) == "\n", "\(text)")
        }
    }

    @Test("output to a pipe that another process has made non-blocking waits for its reader", .timeLimit(.minutes(20)))
    func nonBlocking() async throws {
        var ends: [Int32] = [0, 0]
        let isMade = pipe(&ends) == 0
        try #require(isMade)
        let (source, target) = (ends[0], ends[1])
        _ = fcntl(target, F_SETFL, O_NONBLOCK)
        // More than a pipe holds.
        let size = 1 << 20
        async let isWritten = offPool {
            defer { close(target) }
            return Output.write([UInt8](repeating: 7, count: size), to: target)
        }
        let count = await offPool {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var count = 0
            while true {
                let part = read(source, &buffer, buffer.count)
                if part <= 0 { return count }
                count += part
            }
        }
        close(source)
        let hasEnded = await isWritten
        #expect(hasEnded && count == size)
    }
}
