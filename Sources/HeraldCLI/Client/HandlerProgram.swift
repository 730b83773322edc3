import Glibc
import HeraldJSON

struct HandledEvent: Sendable {
    let id: String
    /// The exit code of its program; 0: it is done.
    let status: Int32
    let reason: String
    /// Otherwise this machine is at fault, and not the event.
    var isStarted = true
}

/// A program that handles one event: the shell runs it with the event on stdin. What it writes to stderr is shown, and its
/// last line kept.
struct HandlerProgram: Sendable {
    private let command: String
    private let id: String
    private let input: [UInt8]
    private let variables: [(name: String, value: String)]

    private static let maxReason = 200
    /// A program that could not be started, as for shells.
    private static let notStarted: Int32 = 126

    init(_ command: String, _ event: JSONValue) {
        self.command = command
        id = event.text("id")
        input = Output.oneLine(json: event.bytes) + [10]
        variables = [
            ("HERALD_EVENT_ID", id), ("HERALD_EVENT_TYPE", event.text("type")),
            ("HERALD_EVENT_SUBJECT", event["subject"]?.string ?? ""), ("HERALD_ATTEMPT", event.text("attempt")),
        ]
    }

    func failed(_ reason: String) -> HandledEvent {
        HandledEvent(id: id, status: Self.notStarted, reason: reason, isStarted: false)
    }

    /// Returns when the program has ended. A thread of its own.
    func run() -> HandledEvent {
        // Files, not pipes: a program that does not read, or leaves another one behind, holds nothing up.
        let files = [Self.temporaryFile(), Self.temporaryFile()].compactMap { $0 }
        defer { for file in files { close(file) } }
        guard files.count == 2 else { return failed("no temporary file: \(String(cString: strerror(errno)))") }
        let (source, errors) = (files[0], files[1])
        guard Output.write(input, to: source), lseek(source, 0, SEEK_SET) == 0 else {
            return failed("the event could not be written: \(String(cString: strerror(errno)))")
        }
        var process = pid_t()
        let error = spawn(&process, source, errors)
        guard error == 0 else { return failed("not started: \(String(cString: strerror(error)))") }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno == EINTR { continue }
            let reason = "its end is unknown: \(String(cString: strerror(errno)))"
            return HandledEvent(id: id, status: Self.notStarted, reason: reason)
        }
        let text = Self.end(of: errors)
        if !text.isEmpty { Output.message(text.hasSuffix("\n") ? text : text + "\n") }
        let last = text.split(separator: "\n").last { !$0.allSatisfy(\.isWhitespace) }.map(String.init) ?? ""
        let signal = status & 0x7f
        if signal != 0 { return HandledEvent(id: id, status: 128 + signal, reason: "ended by signal \(signal)") }
        let code = (status >> 8) & 0xff
        let reason = last.isEmpty ? "exit code \(code)" : last.printable()
        return HandledEvent(
            id: id, status: code, reason: String(reason.unicodeScalars.prefix(Self.maxReason).map(Character.init)))
    }

    private func spawn(_ process: inout pid_t, _ source: Int32, _ errors: Int32) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, source, 0)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process blocks some signals, and a Ctrl-C is for this process alone.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var standard = sigset_t()
        sigemptyset(&standard)
        for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&standard, signal) }
        posix_spawnattr_setsigdefault(&attributes, &standard)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let arguments = ["/bin/sh", "-c", command].map { (text: String) in strdup(text) }
        let own = Set(variables.map(\.name))
        let inherited = Environment.all.filter { !own.contains($0.name) }
        let environment = (inherited + variables).map { strdup("\($0.name)=\($0.value)") }
        defer { for text in arguments + environment { free(text) } }
        return posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments + [nil], environment + [nil])
    }

    // MARK: Files

    /// A file without a name; `nil` if it can't be made.
    private static func temporaryFile() -> Int32? {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let path = "\(folder)/herald-work-\(UInt64.random(in: 0...UInt64.max))"
        // Not mkstemp: a program that another thread starts at this moment would get the event.
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        unlink(path)
        return file
    }

    /// The last 64 KiB of a file.
    private static func end(of file: Int32) -> String {
        let size = lseek(file, 0, SEEK_END)
        guard size > 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: Int(min(size, 65_536)))
        let count = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, size - off_t($0.count)) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
