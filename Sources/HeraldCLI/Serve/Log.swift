import Glibc
import HeraldJSON
import HeraldRuntime
import Synchronization

/// Log lines for operators, on standard error or another descriptor: a constant message, and variable fields.
///
/// Any thread; no thread waits for the reader of the log, because a separate thread writes it. Beyond a bound, lines are dropped.
/// It counts dropped lines, and lines that could not be written.
final class Log: Sendable {
    enum Format: String, Sendable { case human, json }

    enum Level: Int, CaseIterable, Sendable {
        case debug, info, warning, error

        var name: String { "\(self)" }

        static func named(_ name: String) -> Level? { allCases.first { $0.name == name } }
    }

    static let maxWaiting = 1_000

    private struct Queue {
        var lines: [@Sendable () -> LogLine] = []
        var leftOut = 0
        var isEnded = false
    }

    /// The lowest one that is written.
    private let level: Atomic<Int>
    private let format: Format
    private let descriptor: Int32
    private let queue = Mutex(Queue())
    private let wakeup: Wakeup
    private let isDone = HeraldRuntime.Semaphore()
    private let thread = Mutex<Thread?>(nil)

    init(format: Format, level: Level, descriptor: Int32 = STDERR_FILENO) throws(SystemError) {
        self.level = Atomic(level.rawValue)
        self.format = format
        self.descriptor = descriptor
        wakeup = try Wakeup()
        let started = try Thread(name: "log") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Lines below this level are dropped from now on. Any thread.
    func set(_ level: Level) { self.level.store(level.rawValue, ordering: .relaxed) }

    /// The variable parts, by name; `nil` values are omitted.
    typealias Fields = KeyValuePairs<String, String?>

    func info(_ message: StaticString, _ fields: Fields = [:]) { write(.info, message) { fields } }
    func warning(_ message: StaticString, _ fields: Fields = [:]) { write(.warning, message) { fields } }
    func error(_ message: StaticString, _ fields: Fields = [:]) { write(.error, message) { fields } }

    /// - Parameter fields: called on the log's thread, unless the line is dropped.
    func write(_ level: Level, _ message: StaticString, _ fields: @escaping @Sendable () -> Fields) {
        if level.rawValue >= self.level.load(ordering: .relaxed) { insist(level, message, fields) }
    }

    /// Like `write`, whatever the level.
    func insist(_ level: Level, _ message: StaticString, _ fields: @escaping @Sendable () -> Fields) {
        let now = Timestamp(milliseconds: Clock.system.wall())
        let line: @Sendable () -> LogLine = { LogLine(time: now, level: level, message: message, fields: fields()) }
        let isFirst = queue.withLock { queue in
            guard queue.lines.count < Self.maxWaiting else {
                queue.leftOut += 1
                return false
            }
            queue.lines.append(line)
            return queue.lines.count == 1
        }
        if isFirst { wakeup.signal() }
    }

    /// Writes pending lines. Returns afterwards, after a second if the log is not read, or when the time is up. Must be the last
    /// call; another one returns at once.
    /// - Parameter seconds: less than what a service manager grants beyond `--grace`.
    func end(seconds: Int = 5) {
        queue.withLock { $0.isEnded = true }
        wakeup.signal()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        for _ in 0..<seconds {
            if isDone.wait(milliseconds: 1000) { return thread.join() }
            // A write to a log that is not read never returns: such a thread is abandoned. A slow one gets its time. A file on a disk
            // that hangs always seems to have room.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if poll(&entry, 1, 0) <= 0 { return }
        }
    }

    private func run() {
        /// Lines that were dropped, or that the descriptor has not accepted.
        var leftOut = 0
        while true {
            let batch = queue.withLock { queue in
                defer {
                    queue.lines = []
                    queue.leftOut = 0
                }
                return queue
            }
            leftOut += batch.leftOut + batch.lines.count { !write($0()) }
            if leftOut > 0, !batch.lines.isEmpty {
                let now = Timestamp(milliseconds: Clock.system.wall())
                let fields: Fields = ["lines": String(leftOut)]
                // A full disk may have room later.
                if write(LogLine(time: now, level: .warning, message: "log lines were left out", fields: fields)) {
                    leftOut = 0
                }
            }
            if batch.lines.isEmpty {
                if batch.isEnded { break }
                wakeup.wait()
            }
        }
        isDone.signal()
    }

    /// Waits for the reader.
    /// - Returns: `false` if the line is lost: the disk is full, or a pipe has no reader any more.
    private func write(_ line: LogLine) -> Bool { Output.write(Array(line.text(format).utf8), to: descriptor) }
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
