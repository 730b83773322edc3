import HeraldTestSupport
import Testing

@Suite(
    "The command line in a terminal", .serialized, .timeLimit(.minutes(20)), .enabled(if: ChildProcess.exists("tmux")))
struct ClientTerminalTests {
    @Test("tables have colors and the width of the screen; NO_COLOR turns colors off")
    func tables() async throws {
        let herald = try await HeraldProcess.start()
        _ = try await herald.register(
            "http://127.0.0.1:9/a/long/path/that/does/not/fit/on/the/screen/at/all/in/any/way")
        let command =
            "\(try Binary.path()) delegates list --kind webhook --output wide --server 127.0.0.1:\(herald.port)"
        for (prefix, green) in [
            ("env -u NO_COLOR ", true), ("NO_COLOR=1 ", false), ("NO_COLOR= ", true), ("NO_COLOR= TERM=dumb ", false),
        ] {
            // The environment of the tests may contain it.
            let screen = try await Screen(prefix + command)
            let lines = try await screen.final()
            let row = try #require(lines.first { $0.contains("dlg_") })
            #expect(row.contains("\u{1b}[32mactive") == green, "\(row)")
            #expect(row.hasSuffix("…"), "\(row)")
        }
    }

    @Test("publishing shows its progress, and removes it at the end")
    func progress() async throws {
        let herald = try await HeraldProcess.start()
        let folder = TemporaryFolder()
        let input = (1...3000).map { #"{"type": "n", "data": \#($0)}"# }.joined(separator: "\n")
        let file = try folder.write(input, to: "events.ndjson")
        let command = "HERALD_SERVER=127.0.0.1:\(herald.port) \(try Binary.path()) publish --ndjson <\(file)"
        // The standard error is the terminal, and goes through a file on the way so that all of it can be read.
        let screen = try await Screen("script -qec '\(command)' \(folder.path)/typescript")
        let lines = try await screen.final()
        #expect(lines.contains("3000 events are on disk."), "\(lines)")
        #expect(!lines.contains { $0.contains("per second") })
        let typescript = String(decoding: try Files.read(folder.path + "/typescript"), as: UTF8.self)
        #expect(typescript.contains("\r1000 events, ") && typescript.contains(" per second"))
        let dumb = try await Screen("script -qec 'TERM=dumb \(command)' \(folder.path)/dumb")
        _ = try await dumb.final()
        #expect(!String(decoding: try Files.read(folder.path + "/dumb"), as: UTF8.self).contains("1000 events, "))
    }

    @Test("Ctrl-C instead of a hidden key leaves the terminal with its echo")
    func hiddenKey() async throws {
        let screen = try await Screen("\(try Binary.path()) login --server 127.0.0.1:9")
        _ = try await screen.lines(with: "Access key")
        try await screen.type("C-c")
        _ = try await screen.lines(with: "END 130")
        // Without Enter, only the echo shows it.
        try await screen.type("typed")
        _ = try await screen.lines(with: "typed")
    }
}
