import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("herald publish", .timeLimit(.minutes(20)))
struct ClientPublishTests {
    @Test("one event: data from the argument, a file, or standard input")
    func one() async throws {
        let client = Client(try await HeraldProcess.start())
        let file = try TemporaryFolder().written(#"{"from": "file"}"#)
        let id = try await client.run("publish", "a.b", "--id=mine", "--subject", "s", "--data", #"{"from": "flag"}"#)
        #expect(id.end == .exited(0) && id.text == "mine")
        _ = try await client.run("publish", "a.b", "--data", "@\(file.path)")
        _ = try await client.run("publish", "a.b", "--data=-", input: #"{"from": "stdin"}"#)
        _ = try await client.run("publish", "a.b", input: "never read")
        let events = try await client.run("events", "list", "--json").json
        #expect(events.map { $0["data"]?["from"]?.string } == [nil, "stdin", "file", "flag"])
        #expect(
            try await client.run("publish", "a.b", "--id", "mine").text
                == """
                mine was published before; no delegate was notified again
                warning: the event on disk has other values, which count: /subject, /data
                """)
        let same = try await client.run("publish", "a.b", "--id=mine", "--subject=s", "--data", #"{"from": "flag"}"#)
        #expect(same.text == "mine was published before; no delegate was notified again")
        let lines = [#"{"type": "a.b", "id": "mine"}"#, #"{"type": "a.b", "id": "other"}"#].joined(separator: "\n")
        #expect(
            try await client.run("publish", "--ndjson", input: lines).text
                == "2 events are on disk, 1 of them from before.")
    }

    @Test("--wait prints the results, --dry-run the delegates that match")
    func waiting() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        let delegate = try await client.herald.register(receiver.url(), "\"events\": [\"a.*\"]").id
        let waited = try await client.run("publish", "a.b", "--wait", "30")
        #expect(waited.lines.last?.hasPrefix("\(delegate)  delivered  200 ") == true, "\(waited.text)")
        let dry = try await client.run("publish", "c", "--dry-run")
        #expect(dry.lines[1].hasPrefix("\(delegate)  no       \(receiver.url())  /events"), "\(dry.text)")
        #expect(dry.lines.last == "0 would receive it, 1 would not.")
        #expect(try await client.run("events", "list", "--type", "c").text == "No events.")
    }

    @Test("many events from lines: in order, without empty lines")
    func lines() async throws {
        let client = Client(try await HeraldProcess.start())
        let input = (1...2500).map { #"{"type": "n", "data": \#($0)}"# + ($0 % 100 == 0 ? "\r\n\n" : "\n") }.joined()
        let result = try await client.run("publish", "--ndjson", input: input)
        #expect(result.end == .exited(0))
        #expect(result.text == "2500 events are on disk.")
        let all = try await client.run("events", "list", "--type=n", "--all", "--json")
        #expect(all.json.compactMap { $0["data"]?.integer } == (1...2500).reversed())
        let last = try await client.run("publish", "--ndjson", "--json", input: #"{"type": "z"}"#)
        #expect(last.json.map { $0.text("type") } == ["z"], "\(last.text)")
        #expect(try await client.run("publish", "--ndjson").text == "0 events are on disk.")
    }

    @Test("batches are smaller for a server with smaller limits")
    func smallBodies() async throws {
        let client = Client(try await HeraldProcess.start(["--max-body", "2048"]))
        let input = (1...300).map { #"{"type": "n", "data": \#($0)}"# }.joined(separator: "\n")
        #expect(try await client.run("publish", "--ndjson", input: input).text == "300 events are on disk.")
        let all = try await client.run("events", "list", "--all", "--json")
        #expect(all.json.compactMap { $0["data"]?.integer } == (1...300).reversed())
        let large = #"{"type": "n", "data": "\#(String(repeating: "x", count: 3000))"}"#
        let refused = try await client.run("publish", "--ndjson", input: large)
        #expect(refused.end == .exited(1))
        #expect(refused.text.contains("0 events are on disk."), "\(refused.text)")
    }

    @Test("an error names its line and the number of events on disk")
    func wrongLines() async throws {
        let client = Client(try await HeraldProcess.start())
        let broken = try await client.run(
            "publish", "--ndjson", input: "{\"type\": \"a\"}\n\n{\"type\": \"b\"}\n{\"type\": }\n{}")
        #expect(broken.end == .exited(65))
        #expect(
            broken.lines.first?.hasPrefix("herald: Line 4 is not JSON: expected a value, column 10.") == true,
            "\(broken.text)")
        #expect(broken.lines.last == "Stopped. 2 events are on disk, the last of them that of line 3.")
        let refused = try await client.run(
            "publish", "--ndjson", input: "\n{\"type\": \"c\"}\n{\"type\": \"Not this\"}\n")
        #expect(refused.end == .exited(1))
        #expect(refused.lines.contains { $0.hasPrefix("herald: Line 3: type must be") }, "\(refused.text)")
        #expect(refused.lines.last == "Stopped. 0 events are on disk.")
        #expect(
            try await client.run("publish", "--ndjson", input: "[1]").lines[0] == "herald: Line 1 is not a JSON object."
        )
        #expect(try await client.run("events", "list", "--json").lines.count == 2)
    }

    @Test("a busy server is tried again after Retry-After")
    func busy() async throws {
        let times = Counter()
        let receiver = try Receiver { request in
            switch times.next() {
            case 1: return .status(503, headers: [("Retry-After", "1")])
            case 2: return .status(429, headers: [("Retry-After", "0")])
            default: return Self.accepted(request)
            }
        }
        let result = try await Client.run(
            ["publish", "--ndjson", "--server", receiver.url()], input: "{\"type\": \"a\"}\n{\"type\": \"b\"}\n")
        #expect(result.text == "2 events are on disk.")
        #expect(receiver.requests.map(\.text) == Array(repeating: #"[{"type": "a"},{"type": "b"}]"#, count: 3))
        // A 503 may leave open whether the events were published.
        let keys = receiver.requests.compactMap { $0.header("Idempotency-Key") }
        #expect(keys.count == 3 && Set(keys).count == 1, "\(keys)")
        let more = try await Client.run(
            ["publish", "--ndjson", "--server", receiver.url()], input: #"{"type": "a", "id": "1"}"# + "\n")
        #expect(more.text == "1 event is on disk.")
        #expect(receiver.requests.last?.header("Idempotency-Key") == nil)
    }

    private static func accepted(_ request: ReceivedRequest) -> ReceiverReply {
        let entries = Array(repeating: "{}", count: request.text.split(separator: "{").count - 1)
        return .status(202, body: #"{"data": [\#(entries.joined(separator: ","))]}"#)
    }

    @Test("a batch whose response is lost is repeated with its key")
    func lostResponse() async throws {
        let times = Counter()
        // libcurl repeats a request by itself on a connection that was kept.
        let server = try Receiver { (2...3).contains(times.next()) ? .close : Self.accepted($0) }
        defer { server.close() }
        let input = (1...1500).map { #"{"type": "n", "data": \#($0)}"# + "\n" }.joined()
        let result = try await Client.run(["publish", "--ndjson", "--server", server.url()], input: input)
        #expect(result.end == .exited(0) && result.text == "1500 events are on disk.", "\(result.text)")
        let repeated = server.requests.dropFirst().prefix(3)
        #expect(Set(repeated.map(\.text)).count == 1 && Set(repeated.map { $0.header("Idempotency-Key") }).count == 1)
    }

    @Test("a batch that a proxy could not pass on is repeated with its key", arguments: [502, 504])
    func proxy(_ status: Int) async throws {
        let times = Counter()
        let server = try Receiver { times.next() == 1 ? .status(status) : Self.accepted($0) }
        defer { server.close() }
        let result = try await Client.run(
            ["publish", "--ndjson", "--server", server.url()], input: #"{"type": "a"}"# + "\n")
        #expect(result.end == .exited(0) && result.text == "1 event is on disk.", "\(result.text)")
        let keys = server.requests.map { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1], "\(keys)")
    }

    @Test("a batch whose response is lost, and which is refused when it is repeated, is called unknown")
    func lostResponseAndRefusal() async throws {
        let times = Counter()
        let server = try Receiver { request in
            switch times.next() {
            case 1: return Self.accepted(request)
            case 2, 3: return .close
            default: return .status(401)
            }
        }
        defer { server.close() }
        let input = String(repeating: #"{"type": "n"}"# + "\n", count: 1500)
        let result = try await Client.run(["publish", "--ndjson", "--server", server.url()], input: input)
        #expect(result.end == .exited(1), "\(result.text)")
        #expect(result.lines.last?.hasSuffix("Whether the next ones are, too, is not known.") == true, "\(result.text)")
    }

    @Test("without a response to the first batch, its state is called unknown")
    func noResponse() async throws {
        let server = try Receiver { _ in .close }
        defer { server.close() }
        let result = try await Client.run(
            ["publish", "--ndjson", "--server", server.url()], input: #"{"type": "a"}"# + "\n")
        #expect(result.end == .exited(69), "\(result.text)")
        #expect(
            result.lines.last == "Stopped. 0 events are on disk. Whether the next ones are, too, is not known.",
            "\(result.text)")
    }

    @Test(
        "a success that says nothing about the events publishes none",
        arguments: ["", "<html></html>", "{}", #"{"data": []}"#])
    func otherServer(_ body: String) async throws {
        let server = try Receiver { _ in .status(200, body: body) }
        defer { server.close() }
        let result = try await Client.run(
            ["publish", "--ndjson", "--server", server.url()], input: #"{"type": "a"}"# + "\n")
        #expect(result.end == .exited(69) && result.text.contains("is not a Herald server"), "\(result.text)")
        #expect(result.lines.last == "Stopped. 0 events are on disk.", "\(result.text)")
    }

    @Test("invalid arguments are refused before anything is sent")
    func usage() async throws {
        for (arguments, hint, code) in [
            (["publish"], "TYPE is missing", 64), (["publish", "a", "b"], "\"b\" is too much", 64),
            (["publish", "a", "--data", "{"], "--data is not JSON: ", 65),
            (["publish", "a", "--data", "@/nonexistent"], "/nonexistent cannot be read: No such file", 66),
            (["publish", "--ndjson", "--subject", "x"], "leave out the type and --subject", 64),
            (["publish", "a", "--wait", "soon"], "--wait is \"soon\", but must be a number from 1 to 60", 64),
        ] as [([String], String, Int32)] {
            let result = try await Client.run(arguments)
            #expect(result.end == .exited(code))
            #expect(result.text.contains(hint), "\(result.text)")
            #expect(result.lines.count == 1)
        }
    }
}

extension TemporaryFolder {
    /// A file with this text, as long as the folder lives.
    fileprivate func written(_ text: String) throws -> (folder: TemporaryFolder, path: String) {
        (self, try write(text, to: "file"))
    }
}
