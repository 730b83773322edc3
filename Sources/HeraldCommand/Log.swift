import Glibc
import JSON

/// Lines for operators, on the standard error or another descriptor: a constant message and what varies as fields. Any thread.
struct Log: Sendable {
    enum Format: String, Sendable { case human, json }

    enum Level: Int, Sendable {
        case debug, info, warning, error

        init?(_ text: String) {
            switch text {
            case "debug": self = .debug
            case "info": self = .info
            case "warning": self = .warning
            case "error": self = .error
            default: return nil
            }
        }

        var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    let format: Format
    let level: Level
    var descriptor: Int32 = 2

    /// What varies, by name; what is `nil` is left out.
    typealias Fields = KeyValuePairs<String, String?>

    func info(_ message: StaticString, _ fields: Fields = [:]) { write(.info, message, fields) }
    func warning(_ message: StaticString, _ fields: Fields = [:]) { write(.warning, message, fields) }
    func error(_ message: StaticString, _ fields: Fields = [:]) { write(.error, message, fields) }

    func write(_ level: Level, _ message: StaticString, _ fields: Fields) {
        guard level.rawValue >= self.level.rawValue else { return }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
        var line: String
        switch format {
        case .json:
            var json = JSONWriter(capacity: 256)
            json.object {
                $0.member("time", now)
                $0.member("level", level.name)
                $0.member("message", "\(message)")
                for (key, value) in fields { $0.member(key, ifPresent: value) }
            }
            line = String(decoding: json.bytes, as: UTF8.self)
        case .human:
            line = "\(now)  \(level.name)  \(message)"
            for case (let key, let value?) in fields { line += "  \(key)=\(Self.oneWord(value))" }
        }
        line += "\n"
        // One call for a line, so that lines of different threads don't mix.
        _ = line.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// In quotes where it would not read as one word. What comes from outside must not begin a line of its own.
    private static func oneWord(_ value: String) -> String {
        let isPlain = value.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "\"" }
        return isPlain ? value : value.debugDescription
    }
}
