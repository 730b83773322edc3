import Glibc

/// Sleeps for a millisecond: for threads that stand in for something slow.
func pauseBriefly() { usleep(1000) }

/// A child process whose output is read line by line. Blocks: for threads of tests only.
///
/// `@unchecked Sendable`: one thread reads from it and then hands it on.
final class Child: @unchecked Sendable {
    private let output: UnsafeMutablePointer<FILE>
    let pid: pid_t

    /// - Parameter command: for the shell, which it replaces.
    init?(_ command: String) {
        guard let output = popen("echo $$; exec \(command) 2>&1", "r") else { return nil }
        self.output = output
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        guard getline(&line, &size, output) > 0, let line, let pid = pid_t(String(cString: line).dropLast()) else {
            pclose(output)
            return nil
        }
        self.pid = pid
    }

    /// Ends it.
    deinit {
        kill(pid, SIGKILL)
        pclose(output)
    }

    /// The next line that begins so, without its end; `nil` when the output ended.
    func line(beginning prefix: String) -> String? {
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        while getline(&line, &size, output) > 0, let line {
            let text = String(cString: line)
            if text.hasPrefix(prefix) { return String(text.prefix { !$0.isNewline }) }
        }
        return nil
    }

    /// Reads to the end.
    func finish() { _ = line(beginning: "\u{1}") }
}

/// Makes a file with this text.
func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw FileError(path: path) }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw FileError(path: path) }
}

struct FileError: Error {
    let path: String
}
