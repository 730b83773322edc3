import HeraldJSON
import HeraldTestSupport
import Testing

@testable import HeraldReceiver

@Suite("Faults in a receiver's script", .timeLimit(.minutes(20)))
struct FaultTests {
    /// A request that came so many seconds after the clock began.
    private func request(_ target: String, at seconds: Double = 0, id: String? = nil) -> ReceivedRequest {
        ReceivedRequest(
            version: .http1, connection: 1, position: 1, receivedAt: Int64(seconds * 1e9), method: "POST",
            path: target, headers: id.map { [("webhook-id", $0)] } ?? [], body: [])
    }

    /// The responses to the requests, in words.
    private func answers(_ target: String, at times: [Double], seed: UInt64 = 0) throws -> [String] {
        let replies = try ScriptedReplies(seed: seed)
        return times.map { replies.reply(to: request(target, at: $0)).description }
    }

    private func admitted(_ target: String, at times: [Double]) throws -> Int {
        try answers(target, at: times).count { $0 == "200" }
    }

    private func times(_ count: Int, at seconds: Double) -> [Double] { Array(repeating: seconds, count: count) }

    @Test("a share of the requests is selected at random, the same for the same seed")
    func share() throws {
        let drawn = try answers("/status/503/share/20", at: times(1000, at: 0))
        #expect((150...250).contains(drawn.count { $0 == "503" }))
        #expect(drawn.count { $0 == "200" } + drawn.count { $0 == "503" } == 1000)
        #expect(try answers("/status/503/share/20", at: times(1000, at: 0)) == drawn)
        #expect(try answers("/status/503/share/20", at: times(1000, at: 0), seed: 1) != drawn)
        #expect(try answers("/status/503/share/0", at: times(100, at: 0)).allSatisfy { $0 == "200" })
        #expect(try answers("/status/503/share/100", at: times(100, at: 0)).allSatisfy { $0 == "503" })
    }

    @Test("a request that is not selected uses the next step")
    func shares() throws {
        let drawn = try answers("/hang/share/30/then/429/retry-after/1/share/30/then/201", at: times(300, at: 0))
        #expect(Set(drawn) == ["no response", "429", "201"])
    }

    @Test("steps by number and steps by chance can be mixed")
    func mixture() throws {
        let drawn = try answers("/status/500/times/2/then/503/share/50/then/204", at: times(200, at: 0))
        #expect(drawn[..<2] == ["500", "500"])
        #expect(Set(drawn[2...]) == ["503", "204"])
    }

    @Test("a step can apply to the last seconds of each period")
    func periods() throws {
        let asked = [0, 56.9, 57.1, 59.9, 60.1, 117.5]
        #expect(try answers("/status/503/for/3", at: asked) == ["200", "200", "503", "503", "200", "503"])
        let reset = try answers("/reset/for/10/every/20", at: [0, 9, 11, 19, 21])
        #expect(reset == ["200", "200", "reset", "reset", "200"])
    }

    @Test("a bucket allows a burst, and then its rate")
    func bucket() throws {
        #expect(try admitted("/rate/50/burst/10", at: times(20, at: 0)) == 10)
        #expect(try admitted("/rate/50/burst/10", at: times(20, at: 0) + times(20, at: 0.1)) == 15)
        // One second at twice the rate.
        #expect(try admitted("/rate/50", at: (0..<100).map { Double($0) / 100 }) == 51)
        #expect(try answers("/rate/50", at: times(3, at: 0)) == ["200", "200", "429"])
    }

    @Test("a window has its quota, and a refusal names the start of the next one")
    func window() throws {
        #expect(try admitted("/rate/50/window/10", at: times(600, at: 1)) == 500)
        #expect(try admitted("/rate/50/window/1", at: times(60, at: 0.9) + times(60, at: 1.95)) == 100)
        let replies = try ScriptedReplies()
        _ = replies.reply(to: request("/rate/0.1/window/10/announce"))
        guard case .answer(let answer) = replies.reply(to: request("/rate/0.1/window/10/announce", at: 1.5)).content
        else { throw Unexpected("no answer") }
        #expect(answer.status == 429)
        #expect(answer.headers.map(\.name) == ["retry-after"])
        #expect(answer.headers.map(\.value) == ["9"])
    }

    @Test("a slow start accepts a tenth at first, and everything in the end")
    func slowStart() throws {
        let target = "/rate/100/window/1/slow-start/60"
        for (second, expected) in [(0, 10), (30, 55), (60, 100), (100, 100)] {
            let all = try answers(target, at: [0] + times(200, at: Double(second)))
            #expect(all.dropFirst().count { $0 == "200" } == (second == 0 ? expected - 1 : expected))
        }
    }

    @Test("workers are busy, some requests wait, and others are refused")
    func workers() throws {
        let answers = try answers("/workers/2/delay/1/room/1", at: times(4, at: 0) + [1.5])
        #expect(answers == ["200 after 1000 ms", "200 after 1000 ms", "200 after 2000 ms", "503", "200 after 1000 ms"])
    }

    @Test("workers under load take twice as long")
    func strain() throws {
        let answers = try answers("/workers/1/delay/1/strain/1", at: times(3, at: 0))
        #expect(answers == ["200 after 1000 ms", "200 after 2000 ms", "200 after 4000 ms"])
    }

    @Test("paths have limits of their own, or share one")
    func together() throws {
        func statuses(_ options: String) throws -> [String] {
            let replies = try ScriptedReplies()
            return ["/rate/1/burst/1\(options)?a", "/rate/1/burst/1\(options)?b"].map {
                replies.reply(to: request($0)).description
            }
        }
        #expect(try statuses("") == ["200", "200"])
        #expect(try statuses("/together") == ["200", "429"])
    }

    @Test(
        "invalid limits are refused",
        arguments: ["/share/101", "/rate/0", "/rate/x", "/window/0", "/workers/0", "/room/-1", "/for/-1", "/burst/0"])
    func refused(_ target: String) throws {
        #expect(try answers(target, at: [0]) == ["400"])
    }

    @Test("a path's script is replaced while it runs, and restored")
    func replacing() throws {
        let replies = try ScriptedReplies(json: Array(#"{"/a": {"status": 410}}"#.utf8))
        func statuses() -> [String] {
            ["/a?x", "/b", "/status/404"].map { replies.reply(to: request($0)).description }
        }
        #expect(statuses() == ["410", "200", "404"])
        let script = #"{"/a": {"status": 429}, "/status/404": {"status": 500}, "*": {"status": 201}}"#
        try replies.replace(Array(script.utf8))
        #expect(statuses() == ["429", "201", "500"])
        try replies.beginOutage([])
        #expect(statuses() == ["503", "503", "503"])
        try replies.beginOutage(Array(#"{"status": 500, "retry-after": 5}"#.utf8))
        #expect(statuses() == ["500", "500", "500"])
        replies.endOutage()
        try replies.replace(Array(#"{"/a": null, "/status/404": null, "*": null}"#.utf8))
        #expect(statuses() == ["410", "200", "404"])
        #expect(throws: ScriptError.self) { try replies.replace(Array("[]".utf8)) }
    }

    @Test("a replaced limit starts again")
    func newLimit() throws {
        let replies = try ScriptedReplies(json: Array(#"{"/a": {"rate": 1, "burst": 1}}"#.utf8))
        func status() -> String { replies.reply(to: request("/a")).description }
        #expect([status(), status()] == ["200", "429"])
        try replies.replace(Array(#"{"/a": {"rate": 1, "burst": 2}}"#.utf8))
        #expect([status(), status(), status()] == ["200", "200", "429"])
    }

    @Test("counts contain requests per second, and first successes")
    func counts() throws {
        let counts = RequestCounts(now: 0)
        for (second, id, status) in [(0.5, "a", 503), (1.2, "a", 200), (1.3, "b", 204), (3.1, "a", 200)] {
            counts.add(request("/hook?x", at: second, id: id), .status(status))
        }
        counts.add(request("/other", at: 2), .hang)
        let root = try JSONDocument(parsing: counts.json(now: 4_000_000_000)).root
        func numbers(_ path: String, _ key: String) -> [Int64?]? {
            root["paths"]?[path]?[key].map { $0.elements.map(\.integer) }
        }
        #expect(root["seconds"]?.double == 4)
        #expect(numbers("/hook", "attempts") == [1, 2, 0, 1])
        #expect(numbers("/hook", "useful") == [0, 2])
        #expect(numbers("/hook", "duplicates") == [0, 0, 0, 1])
        #expect(numbers("/other", "attempts") == [0, 0, 1])
        #expect(numbers("/other", "useful") == [])
        counts.reset(now: 4_000_000_000)
        #expect(try JSONDocument(parsing: counts.json(now: 5_000_000_000)).root["paths"]?["/hook"] == nil)
    }

    @Test("counts of seconds that are far apart, and not in order, are filled with zeros; a response is bounded")
    func sparseCounts() throws {
        let counts = RequestCounts(now: 0)
        for second in [5_000.5, 2, 5_000.2] { counts.add(request("/a", at: second), .status(500)) }
        counts.add(request("/b", at: 1), .status(500))
        let root = try JSONDocument(parsing: counts.json(now: 0)).root
        let numbers = root["paths"]?["/a"]?["attempts"]?.elements.map(\.integer) ?? []
        #expect(numbers.count == 5_001 && numbers[2] == 1 && numbers[5_000] == 2)
        #expect(numbers.count { $0 == 0 } == 4_999 && root["left_out"] == nil)
        let bounded = try JSONDocument(parsing: counts.json(now: 0, maxNumbers: 5_000)).root
        #expect(bounded["paths"]?["/a"] == nil && bounded["paths"]?["/b"] != nil)
        #expect(bounded["left_out"]?.integer == 1)
    }

    @Test("timers end in the order of their times, then of their creation")
    func timers() {
        var timers = Timers()
        for (number, due) in [50, 10, 30, 10, 20, 30, 10].enumerated() {
            timers.add(.reply(connection: number, stream: 0), due: Int64(due))
        }
        #expect(timers.popDue(at: 9) == nil)
        var order: [Int] = []
        while case .reply(let number, _)? = timers.popDue(at: 40) { order.append(number) }
        #expect(order == [1, 3, 6, 4, 2, 5])
        #expect(timers.nextDue == 50)
    }
}
