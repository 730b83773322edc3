import Glibc
import HeraldJSON
import HeraldStore

/// The file of refused events: JSON lines with the reason. An event may be in it twice after a crash.
struct RefusedFile {
    private let path: String
    private let file: Int32

    init(_ path: String) throws(CommandError) {
        self.path = path
        file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if file < 0 { throw Self.failure(path, ExitCode.cannotCreate) }
        // The event of a line that is cut off is still in the outbox, and gets a line of its own.
        if Self.isCutOff(path), !Output.write([UInt8(ascii: "\n")], to: file) {
            throw Self.failure(path, ExitCode.inputOutput)
        }
    }

    /// Whether a full disk or a crash has cut off the last line.
    private static func isCutOff(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        var status = stat()
        var last = UInt8(ascii: "\n")
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
        return pread(file, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandError {
        CommandError("\(path) cannot be written: \(String(cString: strerror(errno))).".printable(), exitCode: code)
    }

    /// Appends events, and flushes them to the disk.
    func append(_ events: [(entry: OutboxEntry, refusal: Refusal)]) throws(CommandError) {
        var bytes: [UInt8] = []
        for (entry, refusal) in events { bytes += Self.line(entry, refusal) }
        guard Output.write(bytes, to: file) else { throw Self.failure(path, ExitCode.inputOutput) }
        if fdatasync(file) != 0, errno != EINVAL { throw Self.failure(path, ExitCode.inputOutput) }
    }

    private static func line(_ entry: OutboxEntry, _ refusal: Refusal) -> [UInt8] {
        let json = JSONWriter.document { object in
            object.member("id", refusal.id)
            object.member("reason", refusal.reason)
            switch entry {
            case .row(let texts):
                object.object("row") { row in
                    for part in OutboxPart.allCases {
                        row.member(
                            part.rawValue, ifPresent: texts[part].map { String(decoding: $0, as: UTF8.self) })
                    }
                }
            case .message(_, let text): object.member("message", String(decoding: text, as: UTF8.self))
            }
        }
        return json + [UInt8(ascii: "\n")]
    }
}

/// Why Herald does not publish an event.
struct Refusal {
    /// `nil` if it has none.
    let id: String?
    let reason: String
}
