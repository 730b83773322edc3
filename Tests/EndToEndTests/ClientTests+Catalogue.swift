import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line: types, subjects, replays and leases", .timeLimit(.minutes(20)))
struct ClientCatalogueTests {
    @Test("event types are described, listed, shown and removed")
    func eventTypes() async throws {
        let client = Client(try await HeraldProcess.start())
        #expect(try await client.run("event-types", "list").text == "No types have a description.")
        let set = try await client.run(
            "event-types", "set", "order.paid", "--description", "Paid in full", "--schema",
            #"{"type": "object", "required": ["amount"]}"#, "--example={\"amount\": 1}", "--check", "enforce",
            "--assert-formats", "--json")
        #expect(try set.document().text("check") == "enforce", "\(set.text)")
        #expect(try set.document()["assert_formats"]?.bool == true, "\(set.text)")
        let list = try await client.run("event-types", "list")
        #expect(list.lines.count == 2 && list.lines[1].hasPrefix("order.paid  enforce  yes "), "\(list.text)")
        #expect(list.lines[1].hasSuffix("  Paid in full"))
        #expect(try await client.run("event-types", "show", "order.paid").lines[0] == "type            order.paid")
        let refused = try await client.run("publish", "order.paid", "--data", "{}")
        #expect(refused.end == .exited(1) && refused.text.contains("--data must have"), "\(refused.text)")
        #expect(try await client.run("event-types", "remove", "order.paid").text == "Removed order.paid.")
        #expect(try await client.run("event-types", "show", "order.paid").end == .exited(1))
        let wrong = try await client.run("event-types", "set", "a", "--check", "sometimes", "--schema", "{")
        #expect(wrong.end == .exited(65) && wrong.text.contains("--schema is not JSON"), "\(wrong.text)")
    }

    @Test("a subject is erased; scripts must confirm it")
    func erasure() async throws {
        let client = Client(try await HeraldProcess.start())
        for subject in ["a/b", "a/b", "c"] { try await client.herald.publish("t", "\"subject\": \"\(subject)\"") }
        let unasked = try await client.run("subjects", "erase", "a/b")
        #expect(unasked.end == .exited(64) && unasked.text.contains("--yes"), "\(unasked.text)")
        let erased = try await client.run("subjects", "erase", "a/b", "--yes", "--json")
        #expect(try erased.document()["events"]?.integer == 2)
        #expect(try await client.run("events", "list", "--subject", "a/b").text == "No events.")
        #expect(try await client.run("events", "list", "--subject", "c").lines.count == 2)
    }

    @Test("the feed is read forward, page by page, from the position of the page before")
    func feed() async throws {
        let client = Client(try await HeraldProcess.start())
        for type in ["a.b", "x.y", "a.c"] { try await client.herald.publish(type) }
        var after = "earliest"
        var types: [String?] = []
        for _ in 0..<2 {
            let page = try await client.run("events", "feed", "--after", after, "--type", "a.*", "--limit=1", "--json")
            types += try page.document()["data"]?.elements.map { $0["type"]?.string } ?? []
            after = try #require(try page.document()["next"]?.string)
        }
        #expect(types == ["a.b", "a.c"])
        let end = try await client.run("events", "feed", "--after", after, "--wait=1")
        #expect(end.end == .exited(0) && end.text.hasPrefix("Next: --after @"), "\(end.text)")
        let shown = try await client.run("events", "feed", "--after", "1h")
        #expect(shown.lines.count == 5 && shown.text.contains("x.y"), "\(shown.text)")
        let wrong = try await client.run("events", "feed", "--after", "nobody-knows")
        #expect(wrong.end == .exited(1) && wrong.text.contains("--after is no event"), "\(wrong.text)")
    }

    @Test("a delegate's lease is renewed, and past events are sent again")
    func delegates() async throws {
        let receiver = try Receiver()
        let client = Client(try await HeraldProcess.start())
        let id = try await client.herald.register(receiver.url(), "\"lease_seconds\": 3600").id
        let renewed = try await client.run("delegates", "renew", id)
        #expect(renewed.end == .exited(0) && renewed.text.hasPrefix("\(id) stays until 20"), "\(renewed.text)")
        let event = try await client.herald.publish()
        _ = try await client.herald.deliveries(of: event, "delivered")
        #expect(try await client.run("delegates", "replay", id).text.contains("--from is missing"))
        let replay = try await client.run("delegates", "replay", id, "--from", event)
        #expect(replay.text == "Events to send again: 1.", "\(replay.text)")
        #expect(await receiver.requests(2).map { $0.header("webhook-id") } == [event, event])
        let failed = try await client.run("delegates", "replay", id, "--from=earliest", "--only", "failed")
        #expect(failed.text == "Deliveries to repeat: 0.", "\(failed.text)")
    }

    @Test("leases of a pull delegate are listed and taken back, and its position is moved")
    func leases() async throws {
        let client = Client(try await HeraldProcess.start())
        let added = try await client.run("delegates", "add", "--kind", "pull", "--json")
        let id = try added.document().text("id")
        #expect(try await client.run("delegates", "leases", id).text == "No leases.")
        for number in 1...3 { try await client.herald.publish("t", "\"id\": \"e\(number)\"") }
        let path = "/v1/delegates/\(id)/pull"
        let lease = try await client.herald.post(path + "?max=2", "").string("lease") ?? ""
        let list = try await client.run("delegates", "leases", id)
        #expect(
            list.lines.count == 2 && list.lines[1].hasPrefix(lease) && list.lines[1].hasSuffix(" 2"), "\(list.text)")
        let ended = try await client.run("delegates", "end-lease", id, lease)
        #expect(ended.end == .exited(0) && ended.text == "Ended \(lease).", "\(ended.text)")
        let again = try await client.run("delegates", "end-lease", id, lease)
        #expect(again.end == .exited(1) && again.text.contains("lease"), "\(again.text)")
        #expect(try await client.herald.post(path, "")["events"]?.count == 2, "they are pulled again")
        #expect(try await client.run("delegates", "seek", id).text.contains("--to is missing"))
        let sought = try await client.run("delegates", "seek", id, "--to", "e2", "--yes")
        #expect(sought.text == "Moved. Matching events from there on: 2.", "\(sought.text)")
        #expect(try await client.herald.post(path, "")["events"]?.count == 2)
        let webhook = try await client.herald.register("http://127.0.0.1:9/").id
        let wrong = try await client.run("delegates", "seek", webhook, "--to", "now", "--yes")
        #expect(wrong.end == .exited(1) && wrong.text.contains("webhook"), "\(wrong.text)")
    }
}
