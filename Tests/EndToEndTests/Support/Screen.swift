import Glibc
import HeraldTestSupport

/// A terminal of 80 columns in which a command runs, in a tmux of its own.
final class Screen: Sendable {
    private let folder = TemporaryFolder()

    /// The process of the tmux.
    private let id: pid_t

    /// Shows what the shell command writes, and afterwards `END` with its exit code.
    init(_ command: String) async throws {
        let started = try await Self.tmux(
            folder,
            [
                "new-session", "-d", "-P", "-F", "#{pid}", "-x", "80", "-y", "20",
                "\(command); code=$?; echo; echo END $code; cat",
            ])
        guard started.end == .exited(0), let id = pid_t(started.text) else {
            throw HeraldFailure(what: "no tmux: \(started.text)")
        }
        self.id = id
    }

    /// Also when a test has failed.
    deinit { kill(id, SIGTERM) }

    private static func tmux(
        _ folder: TemporaryFolder, _ arguments: [String]
    ) async throws -> (end: ChildProcess.End, text: String) {
        // No configuration, and a socket of its own.
        try await ChildProcess.run(
            "tmux", ["-f", "/dev/null", "-S", folder.path + "/tmux"] + arguments,
            environment: ["TERM": "xterm-256color"])
    }

    /// Returns the lines of the screen when the condition holds.
    /// - Parameter withColors: whether their sequences are there, too.
    func lines(
        _ what: String, withColors: Bool = false, within seconds: Double = patience, until isThere: ([String]) -> Bool
    ) async throws -> [String] {
        let deadline = monotonicSeconds() + seconds
        while true {
            let text = try await Self.tmux(folder, ["capture-pane", "-p"] + (withColors ? ["-e"] : [])).text
            let lines = text.split(separator: "\n").map(String.init)
            if isThere(lines) { return lines }
            guard monotonicSeconds() < deadline else { throw HeraldFailure(what: "\(what) is not shown:\n\(text)") }
        }
    }

    /// Returns the lines of the screen when a line contains the text.
    func lines(with text: String, withColors: Bool = false) async throws -> [String] {
        try await lines(text, withColors: withColors) { $0.contains { $0.contains(text) } }
    }

    /// Returns the lines of the screen after the end of the command, with colours.
    func final() async throws -> [String] { try await lines(with: "END", withColors: true) }

    /// Types keys, by the names that tmux has for them.
    func type(_ keys: String...) async throws { _ = try await Self.tmux(folder, ["send-keys"] + keys) }
}
