import TestSupport

/// A terminal of 80 columns in which a command runs, in a tmux of its own.
final class Screen: Sendable {
    private let folder = TemporaryFolder()

    /// Shows what the shell command writes, and afterwards `END` with its exit code.
    init(_ command: String) async throws {
        let end = try await tmux([
            "new-session", "-d", "-x", "80", "-y", "20", "\(command); code=$?; echo; echo END $code; cat",
        ])
        .end
        guard end == .exited(0) else { throw HeraldFailure(what: "no tmux") }
    }

    private func tmux(_ arguments: [String]) async throws -> (end: ChildProcess.End, text: String) {
        // No configuration, and a socket of its own.
        try await ChildProcess.run(
            "tmux", ["-f", "/dev/null", "-S", folder.path + "/tmux"] + arguments,
            environment: ["TERM": "xterm-256color"])
    }

    /// What it shows once the condition holds.
    /// - Parameter withColors: whether their sequences are there, too.
    func lines(
        _ what: String, withColors: Bool = false, within seconds: Double = 30, until isThere: ([String]) -> Bool
    ) async throws -> [String] {
        let deadline = monotonicSeconds() + seconds
        while true {
            let text = try await tmux(["capture-pane", "-p"] + (withColors ? ["-e"] : [])).text
            let lines = text.split(separator: "\n").map(String.init)
            if isThere(lines) { return lines }
            guard monotonicSeconds() < deadline else { throw HeraldFailure(what: "\(what) is not shown:\n\(text)") }
        }
    }

    /// What it shows once a line contains the text.
    func lines(with text: String, withColors: Bool = false) async throws -> [String] {
        try await lines(text, withColors: withColors) { $0.contains { $0.contains(text) } }
    }

    /// What it shows when the command has ended, colours included.
    func final() async throws -> [String] { try await lines(with: "END", withColors: true) }

    /// Types keys, by the names that tmux has for them.
    func type(_ keys: String...) async throws { _ = try await tmux(["send-keys"] + keys) }

    func close() async throws { _ = try await tmux(["kill-server"]) }
}
