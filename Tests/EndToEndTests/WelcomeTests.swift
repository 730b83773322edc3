import Glibc
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The first lines of herald serve", .timeLimit(.minutes(20)))
struct WelcomeTests {
    /// A server on a pseudo-terminal of script(1), and what it has written there.
    private final class TerminalServer: Sendable {
        let folder: TemporaryFolder
        private let script: ChildProcess
        var text: String { String(decoding: (try? Files.read(folder.path + "/typescript")) ?? [], as: UTF8.self) }

        init(_ arguments: [String], _ environment: [String: String] = [:], folder: TemporaryFolder) throws {
            self.folder = folder
            let words = [try Binary.path(), "serve", "--data", folder.path + "/data"] + arguments
            let command = "echo $$ >\(folder.path)/id; exec \(words.joined(separator: " "))"
            script = try ChildProcess(
                "script", ["-qefc", command, folder.path + "/typescript"], environment: environment)
        }

        /// script(1) does not pass signals on.
        deinit {
            guard let text = try? Files.read(folder.path + "/id") else { return }
            if let id = pid_t(String(decoding: text, as: UTF8.self).prefix { $0.isNumber }) { kill(id, SIGKILL) }
        }

        /// The line with this label, without the label.
        func line(_ label: String) async throws -> String {
            try await eventually("a line \(label)") {
                let lines = self.text.split { $0.isNewline }.filter { $0.hasPrefix("    ") }
                return lines.lazy.map { $0.drop { $0 == " " } }.first { $0.hasPrefix(label + " ") }
                    .map { String($0.dropFirst(label.count).drop { $0 == " " }) }
            }
        }
    }

    private func publishes(_ command: String, _ environment: [String: String] = [:]) async throws -> Bool {
        let (end, text) = try await ChildProcess.run("sh", ["-c", "\(command) -sS -f"], environment: environment)
        return end == .exited(0) && text.contains("evt_")
    }

    @Test("on a terminal, it prints the URL of the dashboard, that no key is set, and a command that works")
    func open() async throws {
        let server = try TerminalServer(["--listen", "127.0.0.1:0"], folder: TemporaryFolder())
        let url = try await server.line("Dashboard")
        #expect(url.hasPrefix("http://127.0.0.1:") && url.hasSuffix("/"))
        #expect(try await server.line("Admin key").contains("not set"))
        #expect(try await publishes(try await server.line("Next")))
        let page = try await ChildProcess.run("curl", ["-sS", "-f", url])
        #expect(page.end == .exited(0) && page.text.contains("<html"))
    }

    @Test("it says where the admin key is: in a file, in a variable, or above")
    func keys() async throws {
        let folder = TemporaryFolder()
        let file = try folder.write(MadeKey.admin.text + "\n", to: "it's.key")
        chmod(file, 0o600)
        let quoted = "'\(file.replacing("'", with: #"'\''"#))'"
        let inFile = try TerminalServer(
            ["--listen", "127.0.0.1:0", "--admin-key-file", quoted], folder: TemporaryFolder())
        #expect(try await inFile.line("Admin key") == "in \(file)")
        #expect(try await publishes(try await inFile.line("Next")))
        let variable = ["HERALD_ADMIN_KEY": MadeKey.admin.text]
        let inVariable = try TerminalServer(["--listen", "127.0.0.1:0"], variable, folder: TemporaryFolder())
        #expect(try await inVariable.line("Admin key") == "the value of HERALD_ADMIN_KEY")
        #expect(try await publishes(try await inVariable.line("Next"), variable))
        let made = try TerminalServer(["--listen", "0.0.0.0:0"], folder: TemporaryFolder())
        #expect(try await made.line("Admin key").contains("shown above"))
        #expect(try await publishes(try await made.line("Next")))
    }

    @Test("the log of a service and a log in JSON have none of these lines")
    func services() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.kill()
        #expect(!herald.process.text.contains("Dashboard"))
        let folder = TemporaryFolder()
        let server = try TerminalServer(["--listen", "127.0.0.1:0", "--log-format", "json"], folder: folder)
        try await eventually("it listens") { server.text.contains("listening") }
        // It prints the lines before it responds to a signal.
        let id = String(decoding: try Files.read(folder.path + "/id"), as: UTF8.self).prefix { $0.isNumber }
        kill(try #require(pid_t(String(id))), SIGTERM)
        try await eventually("it has stopped") { server.text.contains("\"stopped\"") }
        #expect(!server.text.contains("Dashboard"))
    }

    @Test("a stored key is not known to the server, and names in --allowed-hosts are those that it serves")
    func stored() throws {
        let settings = try Settings(arguments: ["--allowed-hosts", "herald.example"], environment: [:])
        let welcome = Welcome(settings, port: 80, shown: nil, needsKey: true)
        #expect(welcome.key == .stored)
        #expect(welcome.text(isPublic: false).contains("http://herald.example:80/v1/events"))
        #expect(welcome.text(isPublic: false).contains("$HERALD_KEY"))
    }

    @Test("an IPv6 address of --allowed-hosts has its brackets once", arguments: ["[fd00::1]", "fd00::1"])
    func address(host: String) throws {
        let settings = try Settings(arguments: ["--allowed-hosts", host], environment: [:])
        let welcome = Welcome(settings, port: 80, shown: nil, needsKey: true)
        #expect(welcome.address == "http://[fd00::1]:80")
    }

    @Test("with a public URL, its lines are below that URL, and without the header that the proxy sends")
    func publicURL() throws {
        let settings = try Settings(
            arguments: [
                "--public-url", "https://example.com/herald/", "--trusted-proxies", "127.0.0.1", "--proxy-protocol",
                "true",
            ],
            environment: [:])
        let text = Welcome(settings, port: 80, shown: nil, needsKey: false).text(isPublic: false)
        #expect(text.contains("Dashboard  https://example.com/herald/\n"))
        #expect(text.contains(" https://example.com/herald/v1/events\n") && !text.contains("--haproxy-protocol"))
    }
}
