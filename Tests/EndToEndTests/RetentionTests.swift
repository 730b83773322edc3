import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("Retention", .timeLimit(.minutes(20)), .serialized)
struct RetentionTests {
    /// The numbers of missed events that were announced, by delegate.
    private static func announced(to watcher: Receiver) throws -> [String: Int64] {
        // One that arrived just before the kill may arrive twice.
        let told = Dictionary(watcher.requests.map { ($0.header("webhook-id"), $0.body) }) { $1 }.values
        var sums: [String: Int64] = [:]
        for body in told {
            let data = try JSONDocument(parsing: body)["data"]
            sums[data?["delegate"]?.string ?? "", default: 0] += data?["events_at_most"]?.integer ?? 0
        }
        return sums
    }

    @Test("beyond the size limit the oldest events are deleted; a delegate gets the number of those that matched")
    func size() async throws {
        var herald = try await HeraldProcess.start(["--retention-size", "16MiB"])
        let (watcher, receiver) = (try Receiver(), try Receiver())
        defer {
            watcher.close()
            receiver.close()
        }
        _ = try await herald.register(watcher.url(), #""events": ["herald.delivery.dropped"]"#)
        let id = try await herald.register(receiver.url(), #""events": ["large.wanted"]"#).id
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/pause").status == 200)
        let worker = try await herald.post("/v1/delegates", #"{"kind": "pull", "events": ["large.wanted"]}"#).id
        let data = String(repeating: "x", count: 200_000)
        var wanted: [String] = []
        var position: String?
        for number in 0..<150 {
            let type = number % 6 == 0 ? "large.other" : "large.wanted"
            let event = try await herald.publish(type, #""data": "\#(data)""#)
            if type == "large.wanted" { wanted.append(event) }
            if number == 0 { position = try await herald.get("/v1/events?after=earliest").string("next") }
        }
        // The log is looked at every ten seconds.
        _ = try await herald.get("/v1/events/\(wanted[0])") { $0.status == 404 }
        // A reader of the feed that was behind gets the oldest that is left, and the information that events are missing.
        let feed = try await herald.get("/v1/events?limit=1&after=\(try #require(position))")
        #expect(feed["truncated"]?.bool == true && feed.data.count == 1 && feed.data[0]["id"]?.string != wanted[0])
        #expect(try await herald.get("/v1/events?after=\(wanted[0])").errors == ["after"])
        _ = await watcher.requests(1)
        // What was not announced yet is announced at the next start; with this limit nothing more is deleted then.
        try await herald.kill()
        herald = try await herald.restart(["--retention-size", "1GiB"])
        let counts = try await herald.get("/v1/storage")["removed"]?.elements
            .filter { $0["what"]?.string == "deliveries" }.compactMap { $0["count"]?.integer }
        let all = counts?.reduce(0, +) ?? 0
        try await eventually("they are announced, and no more") {
            try Self.announced(to: watcher).values.reduce(0, +) == all
        }
        let announced = try Self.announced(to: watcher)
        #expect(Set(announced.keys) == [id, worker])
        for count in announced.values { #expect((1..<Int64(wanted.count)).contains(count)) }
        let missed = Int(announced[id] ?? 0)
        #expect(try await herald.send("POST", "/v1/delegates/\(id)/resume").status == 200)
        let told = await receiver.requests(wanted.count - missed).compactMap { $0.header("webhook-id") }
        #expect(Set(told) == Set(wanted.dropFirst(missed)))
    }
}
