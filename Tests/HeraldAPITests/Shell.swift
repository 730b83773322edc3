import Foundation
import HeraldTestSupport

/// Runs shell scripts for tests, off the cooperative pool.
enum Shell {
    /// The binary under test.
    static let herald = ProcessInfo.processInfo.environment["HERALD_BINARY"]

    struct Answer: Sendable {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs the script with bash, in that folder, and no longer than `patience`; whatever it leaves running is killed.
    static func run(_ script: String, in folder: String, environment: [String: String] = [:]) async throws -> Answer {
        // Into files: a process in the background that holds a pipe open would never let us see its end.
        let output = URL(filePath: folder).appending(path: "output-\(UUID())")
        let errors = URL(filePath: folder).appending(path: "errors-\(UUID())")
        defer {
            try? FileManager.default.removeItem(at: output)
            try? FileManager.default.removeItem(at: errors)
        }
        let prelude = """
            set -eu
            cd '\(folder)'
            exec </dev/null >'\(output.path)' 2>'\(errors.path)'
            trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT

            """
        let end = try await ChildProcess.run(
            "timeout", ["--kill-after=5", "\(Int(patience))", "bash", "-c", prelude + script], environment: environment
        ).end
        // As shells tell of a signal.
        let status =
            switch end {
            case .exited(let code): code
            case .killed(let signal): 128 + signal
            }
        return Answer(
            status: status, output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
    }
}
