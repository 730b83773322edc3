import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("herald bench", .serialized, .timeLimit(.minutes(20)))
struct BenchTests {
    @Test("at a fixed rate, every event that was due is counted, and accepted events arrive")
    func delivery() async throws {
        let client = Client(try await HeraldProcess.start())
        func bench() async throws -> JSONValue {
            try await client.run(
                "bench", "--deliver", "--rate", "100", "--seconds=1", "--connections", "4", "--size", "300", "--json"
            ).document()
        }
        var report = try await bench()
        // A process that does not get its turn for the whole second sends nothing.
        while report["not_sent"]?.integer == 100 { report = try await bench() }
        let accepted = try #require(report["accepted"]?["count"]?.integer)
        #expect(accepted > 0 && accepted + (report["not_sent"]?.integer ?? 0) == 100, "\(report)")
        #expect(report["arrived"]?["count"]?.integer == accepted)
        #expect(report["errors"]?.count == 0)
        let latency = try #require(report["arrived"]?["latency_ms"])
        #expect(latency.members.map(\.key) == ["p50", "p95", "p99", "p99_9", "max"])
        let event = try #require(try await client.run("events", "list", "--limit=1", "--json").json.first)
        #expect(event.text("type") == "bench.posted" && event["data"]?["sent_ns"]?.integer != nil)
        #expect(try await client.herald.get("/v1/delegates?kind=webhook").data.isEmpty, "it is unregistered")
        #expect(try await client.run("events", "list", "--type=bench.*", "--all", "--json").lines.count == accepted)
    }

    @Test("at a fixed rate, the delay of a slow server is measured, and unsent events are counted")
    func slowServer() async throws {
        let server = try Receiver { _ in .delayed(milliseconds: 200, .status(202, body: "{}")) }
        func bench() async throws -> JSONValue {
            let result = try await Client.run(
                ["bench", "--rate", "20", "--seconds", "1", "--connections", "1", "--json"], server: server.url())
            #expect(result.end == .exited(1))
            return try result.document()
        }
        var report = try await bench()
        while report["not_sent"]?.integer == 20 { report = try await bench() }
        // At most five of the twenty go through the one connection; each was due earlier than the one before was answered.
        let accepted = try #require(report["accepted"]?["count"]?.integer)
        #expect((1...5).contains(accepted), "\(report)")
        #expect(report["not_sent"]?.integer == 20 - accepted)
        let longest = try #require(report["accepted"]?["latency_ms"]?["max"]?.double)
        #expect(longest >= 200 + Double(accepted - 1) * 150 - 1, "\(report)")
    }

    @Test("refused events are counted by reason, and the exit code is 1")
    func errors() async throws {
        let server = try Receiver { request in
            request.path.contains("dry_run") ? .status(200, body: "{}") : .status(503)
        }
        func bench() async throws -> Client.Result {
            try await Client.run(
                ["bench", "--seconds", "1", "--connections", "2", "--rate=10"], server: server.url())
        }
        var result = try await bench()
        while !server.requests.contains(where: { !$0.path.contains("dry_run") }) { result = try await bench() }
        #expect(result.end == .exited(1))
        #expect(result.lines.contains { $0.hasSuffix(" not accepted: status 503") }, "\(result.text)")
        #expect(result.lines.contains { $0.hasPrefix("accepted  0 ") }, "\(result.text)")
    }

    @Test("Ctrl-C ends a run: the results so far are printed, and the webhook is unregistered")
    func interruption() async throws {
        let herald = try await HeraldProcess.start()
        let child = try ChildProcess(
            try Binary.path(),
            ["bench", "--deliver", "--seconds", "600", "--rate", "200", "--server", "127.0.0.1:\(herald.port)"])
        _ = try await herald.get("/v1/events?type=bench.posted") { !$0.data.isEmpty }
        child.signal(2)
        #expect(try await child.ended() == .exited(130))
        #expect(
            child.lines.contains { $0.hasPrefix("accepted  ") } && child.lines.contains { $0.hasPrefix("arrived ") })
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.isEmpty)
    }

    @Test("a signal ends it while the server does not respond to the first request")
    func interruptionBefore() async throws {
        let server = try Receiver { _ in .hang }
        defer { server.close() }
        let child = try ChildProcess(try Binary.path(), ["bench", "--server", server.url()])
        _ = await server.requests(1)
        // Not INT, which a shell lets its background programs ignore.
        child.signal(15)
        #expect(try await child.ended() == .killed(signal: 15))
    }

    @Test("impossible measurements are refused before anything is published")
    func mistakes() async throws {
        let herald = try await HeraldProcess.start()
        for (arguments, code, words) in [
            (["--deliver", "--server", "http://192.0.2.1"], 64, "needs a server on this machine"),
            (["--seconds", "0"], 64, "from 1 to 3600"), (["--size", "10"], 64, "from 160"),
            (["--type", "Not A Type"], 1, "--type"), (["--size", "300000"], 1, "262144"),
        ] as [([String], Int32, String)] {
            let result = try await Client.run(["bench"] + arguments, server: "127.0.0.1:\(herald.port)")
            #expect(result.end == .exited(code), "\(arguments)")
            #expect(result.text.contains(words), "\(result.text)")
        }
        #expect(try await herald.get("/v1/events").data.isEmpty)
    }

    @Test("a terminal shows the progress, and then a table", .enabled(if: ChildProcess.exists("tmux")))
    func terminal() async throws {
        let herald = try await HeraldProcess.start()
        let screen = try await Screen(
            "\(try Binary.path()) bench --deliver --seconds 600 --rate 50 --server 127.0.0.1:\(herald.port)")
        _ = try await screen.lines(with: " of 600 s, ")
        try await screen.type("C-c")
        let lines = try await screen.lines(with: "END 130")
        #expect(!lines.contains { $0.contains(" of 600 s, ") })
        // Wide times move the columns apart.
        let heading = "EVENTS COUNT PER SECOND P50 MS P95 MS P99 MS P99.9 MS MAX MS"
        #expect(lines.contains { $0.split(separator: " ").joined(separator: " ") == heading }, "\(lines)")
        #expect(
            lines.contains { $0.hasPrefix("accepted  ") } && lines.contains { $0.hasPrefix("arrived   ") }, "\(lines)")
    }

    @Test("times are counted to two percent, and percentiles are correct")
    func histogram() {
        var all = BenchHistogram()
        #expect(all.percentile(0.5) == 0)
        for value in 1...10_000 { all.add(Int64(value)) }
        var more = BenchHistogram()
        for value in [-5, 1 << 60, 1_000_000] as [Int64] { more.add(value) }
        for (part, wanted) in [(0.01, 100.0), (0.5, 5000), (0.95, 9500), (0.99, 9900), (0.999, 9990), (1, 10_000)] {
            let value = Double(all.percentile(part))
            #expect(value >= wanted && value <= wanted * 1.016 + 1)
        }
        all.add(more)
        #expect(all.count == 10_003 && all.max == 1 << 36 && all.percentile(1) == 1 << 36)
    }
}
