import Glibc
import HeraldJSON
import HeraldRuntime
import Synchronization

/// Log lines for operators, on standard error or another descriptor: a constant message, and variable fields. Any
/// thread; no thread waits for the reader of the log, because a separate thread writes it.
struct Log: Sendable {
    enum Format: String, Sendable { case human, json }

    enum Level: Int, CaseIterable, Sendable {
        case debug, info, warning, error

        var name: String { "\(self)" }

        static func named(_ name: String) -> Level? { allCases.first { $0.name == name } }
    }

    private let thread: LogThread

    init(format: Format, level: Level, descriptor: Int32 = STDERR_FILENO) throws(SystemError) {
        thread = try LogThread(format, level, descriptor)
    }

    /// Lines below this level are dropped from now on. Any thread.
    func set(_ level: Level) { thread.level.store(level.rawValue, ordering: .relaxed) }

    /// The variable parts, by name; `nil` values are omitted.
    typealias Fields = KeyValuePairs<String, String?>

    func info(_ message: StaticString, _ fields: Fields = [:]) { write(.info, message) { fields } }
    func warning(_ message: StaticString, _ fields: Fields = [:]) { write(.warning, message) { fields } }
    func error(_ message: StaticString, _ fields: Fields = [:]) { write(.error, message) { fields } }

    /// - Parameters:
    ///   - fields: called on the log's thread, unless the line is dropped.
    func write(_ level: Level, _ message: StaticString, _ fields: @escaping @Sendable () -> Fields) {
        if level.rawValue >= thread.level.load(ordering: .relaxed) { insist(level, message, fields) }
    }

    /// Like `write`, whatever the level.
    func insist(_ level: Level, _ message: StaticString, _ fields: @escaping @Sendable () -> Fields) {
        let now = Timestamp(milliseconds: Clock.system.wall())
        thread.write { LogLine(time: now, level: level, message: message, fields: fields()) }
    }

    /// Writes pending lines. Returns afterwards, or after a second if the log is not read. Must be the last call; another one returns
    /// at once.
    func end() { thread.end() }
}

/// One line before formatting.
struct LogLine {
    let time: Timestamp
    let level: Log.Level
    let message: StaticString
    let fields: Log.Fields

    func text(_ format: Log.Format) -> String {
        switch format {
        case .json:
            let json = JSONWriter.document {
                $0.member("time", time)
                $0.member("level", level.name)
                $0.member("message", "\(message)")
                for (key, value) in fields { $0.member(key, ifPresent: value) }
            }
            return String(decoding: TerminalText.escaped(json), as: UTF8.self) + "\n"
        case .human:
            var line = "\(time)  \(level.name)  \(message)"
            for case (let key, let value?) in fields { line += "  \(key)=\(Self.oneWord(value))" }
            return line + "\n"
        }
    }

    /// In quotes if it is not one word. Text from outside must not start a new line.
    private static func oneWord(_ value: String) -> String {
        let isPlain = value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && !TerminalText.isControl($0) }
        return isPlain ? value : value.debugDescription.printable()
    }
}
