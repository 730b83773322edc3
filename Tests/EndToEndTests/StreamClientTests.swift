import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Held against `httpx-sse` from PyPI, when HERALD_VENV names a Python that has it: Tests/Streams/listen.py.
@Suite(
    "Live streams and an independent client", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: getenv("HERALD_VENV") != nil))
struct StreamClientTests {
    @Test("it reads events and attempts live, and reconnects after a disconnection and a server restart")
    func listening() async throws {
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start(listen: "127.0.0.1:\(try unusedPort())")
        let delegate = try await herald.register(receiver.url()).id
        let events = try Listener("http://127.0.0.1:\(herald.port)/v1/events/stream?events=live.*", breaksAfter: 7)
        let attempts = try Listener(
            "http://127.0.0.1:\(herald.port)/v1/attempts/stream?delegate=\(delegate)", breaksAfter: 5)
        defer {
            events.process.signal(SIGKILL)
            attempts.process.signal(SIGKILL)
        }
        try await eventually("both have begun") {
            events.messages.first?["event"]?.string == "ready" && attempts.messages.first?["event"]?.string == "ready"
        }
        var posted: [String] = []
        for number in 0..<40 {
            if number == 20 {
                try await eventually("attempts are recorded") { attempts.told.count == 40 }
                try await herald.kill()
                herald = try await HeraldProcess.start(
                    folder: herald.folder, listen: "127.0.0.1:\(herald.port)")
            }
            posted.append(
                try await herald.publish("live.one", "\"data\": {\"number\": \(number), \"text\": \"ä\\n😀\"}"))
            try await herald.publish("other.one")
        }
        let expected = posted
        try await eventually("all events were told") { events.told.count >= expected.count }
        #expect(events.told.map { $0["id"]?.string } == expected)
        for (number, message) in events.told.enumerated() {
            let data = try #require(message["data"]?["data"])
            #expect(data["number"]?.integer == Int64(number) && data["text"]?.string == "ä\n😀")
        }
        try await eventually("all attempts were told") { attempts.told.count >= 80 }
        let page = try await herald.get("/v1/delegates/\(delegate)/attempts?limit=200").data
        #expect(attempts.told.map { $0["id"]?.string } == page.reversed().map { $0["id"]?.string })
        #expect(attempts.told.allSatisfy { $0["data"]?["delegate"]?.string == delegate })
    }
}

/// The client, as a process.
private struct Listener {
    let process: ChildProcess

    init(_ url: String, breaksAfter messages: Int) throws {
        let venv = getenv("HERALD_VENV").map { String(cString: $0) } ?? ""
        let script = #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "Streams/listen.py"
        process = try ChildProcess(venv + "/bin/python3", ["-B", script, url, "\(messages)"])
    }

    var messages: [JSONDocument] { process.lines.compactMap { try? JSONDocument(parsing: $0) } }
    /// The messages of the log.
    var told: [JSONDocument] { messages.filter { $0["event"]?.string == "message" } }
}
