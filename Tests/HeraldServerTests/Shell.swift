import Foundation
import Glibc
import TestSupport

/// Runs shell scripts for tests, off the cooperative pool.
enum Shell {
    /// The binary under test.
    static let herald = ProcessInfo.processInfo.environment["HERALD_BINARY"]

    struct Answer: Sendable {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs the script with bash, in that folder, for a minute at most; whatever it leaves running is killed.
    static func run(_ script: String, in folder: String, environment: [String: String] = [:]) async throws -> Answer {
        try await RawHTTP.onThread {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            let prelude = "set -eu\ntrap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\n"
            process.arguments = ["timeout", "--kill-after=5", "60", "bash", "-c", prelude + script]
            process.currentDirectoryURL = URL(filePath: folder)
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            // Into files: a process in the background that holds a pipe open would never let us see its end.
            let output = URL(filePath: folder).appending(path: "output-\(UUID())")
            let errors = URL(filePath: folder).appending(path: "errors-\(UUID())")
            try Data().write(to: output)
            try Data().write(to: errors)
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = try FileHandle(forWritingTo: output)
            process.standardError = try FileHandle(forWritingTo: errors)
            // Threads of the cooperative pool hold signals back, and so would the script, whose `kill` had no effect then.
            var none = sigset_t()
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, nil)
            try process.run()
            process.waitUntilExit()
            defer {
                try? FileManager.default.removeItem(at: output)
                try? FileManager.default.removeItem(at: errors)
            }
            return Answer(
                status: process.terminationStatus,
                output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
                errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
        }
    }
}
