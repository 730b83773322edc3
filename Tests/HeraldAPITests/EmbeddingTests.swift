import Foundation
import Herald
import HeraldCrypto
import HeraldTestSupport
import Testing

@Suite("Herald as a library", .timeLimit(.minutes(20)))
struct EmbeddingTests {
    private let folder = TemporaryFolder()

    private func hub() async throws -> Hub {
        var options = Hub.Options()
        options.allowsLoopback = true
        return try await Hub.open(folder: folder.path + "/data", options: options)
    }

    @Test("the example of the guide leaves its event on disk")
    func example() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        try await embed(inFolder: folder.path + "/data", calling: receiver.url())
        let hub = try await hub()
        #expect(hub.head == 1)
        await hub.stop(grace: .zero)
    }

    @Test("a registered webhook gets an Encodable value as signed JSON")
    func webhook() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let hub = try await hub()
        let secret = try SigningSecret.random()
        let settings = WebhookSettings(url: receiver.url("/hook"), events: [.prefix("order.")])
        let webhook = try await hub.webhooks.add(settings, secret: secret)
        #expect(webhook.status == .active && webhook.secret == secret)
        #expect(try await hub.webhooks.list().elements.map(\.id) == [webhook.id])
        // Once more, as an app does at its next start.
        let again = try await hub.webhooks.add(settings, secret: secret)
        #expect(again.id == webhook.id && again.secret == nil)

        let published = try await hub.publish("order.placed", Order(total: 12.5), subject: "order:1")
        #expect(published.disposition == .accepted)
        let request = try #require(await receiver.requests(1).first)
        #expect(request.text.contains(#""data":{"total":12.5}"#))
        let check = try SignatureCheck(keys: [secret.text])
        #expect(try check.verdict(on: request, now: Int64(Date().timeIntervalSince1970 * 1000)) == .verified)

        await hub.stop(grace: .seconds(5))
    }

    @Test("an event with a delivery date is scheduled, moved, cancelled, and published at its date")
    func scheduling() async throws {
        let hub = try await hub()
        let date = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 3_600).rounded(.down))
        var event = try NewEvent("trial.ending", ["n": 1], subject: "user:42")
        event.deliveryDate = date
        let scheduled = try await hub.publish(event)
        #expect(scheduled.disposition == .scheduled && scheduled.scheduledDate == date && hub.head == 0)
        event.deliveryDate = date.addingTimeInterval(-60)
        let other = try await hub.publish(event)
        let list = try await hub.scheduledEvents(about: "user:42").elements
        #expect(list.map(\.event.id) == [other.event.id, scheduled.event.id])
        #expect(list.map(\.date) == [date.addingTimeInterval(-60), date])
        try await hub.cancelScheduledEvent(other.event.id)
        #expect(
            try await hub.reschedule(scheduled.event.id, to: Date(timeIntervalSince1970: 1)).event.id
                == scheduled.event.id)
        try await eventually("it is published") { hub.head == 1 }
        #expect(try await hub.scheduledEvents().elements.isEmpty)
        event.deliveryDate = Date().addingTimeInterval(367 * 86_400)
        await #expect(throws: HubError.self) { try await hub.publish(event) }
        event.deliveryDate = Date(timeIntervalSince1970: 5)
        #expect(try await hub.publish(event).disposition == .accepted && hub.head == 2)
        let earliest = Date(timeIntervalSince1970: -.greatestFiniteMagnitude)
        event.deliveryDate = earliest
        #expect(try await hub.publish(event).disposition == .accepted && hub.head == 3)
        event.deliveryDate = date
        _ = try await hub.reschedule(try await hub.publish(event).event.id, to: earliest)
        try await eventually("it is published") { hub.head == 4 }
        await hub.stop(grace: .zero)
    }

    @Test(
        "a hub stops with any time for open callbacks", arguments: [Duration.seconds(Int64.max), .seconds(Int64.min)])
    func anyGrace(_ grace: Duration) async throws {
        let hub = try await hub()
        try await hub.publish("order.placed", 1)
        await hub.stop(grace: grace)
    }

    @Test("a sequence returns the events of the log in order, from disk and from memory, until the hub stops")
    func sequence() async throws {
        let first = try await hub()
        // More than one page.
        try await first.publish((1...600).map { try NewEvent("order.placed", $0, subject: "order:\($0)") })
        await first.stop(grace: .zero)

        let hub = try await hub()
        let all = Task {
            var numbers: [Int] = []
            for try await entry in hub.events(after: .start) {
                #expect(entry.position.rawValue == LogPosition(numbers.count + 1))
                numbers.append(try entry.event.decode())
                if numbers.count == 700 { Task { await hub.stop(grace: .zero) } }
            }
            return numbers
        }
        let selected = hub.events(matching: EventSelection(events: [.exact("order.placed")], subjects: ["order:7*"]))
        let some = Task {
            var numbers: [Int] = []
            for try await entry in selected { numbers.append(try entry.event.decode()) }
            return numbers
        }
        for number in 601...700 { try await hub.publish("order.placed", number, subject: "order:\(number)") }
        #expect(try await all.value == Array(1...700))
        // What was published after it was made.
        #expect(try await some.value == [700])
    }

    @Test("a position is kept as a number, and an iteration continues behind it after a restart")
    func position() async throws {
        let first = try await hub()
        #expect(first.lastPosition == .start)
        try await first.publish((1...3).map { try NewEvent("order.placed", $0) })
        await first.stop(grace: .zero)
        let kept = try JSONDecoder().decode([EventPosition].self, from: Data("[2, -1]".utf8))
        #expect(try JSONEncoder().encode(kept) == Data("[2,0]".utf8))

        let hub = try await hub()
        #expect(hub.lastPosition > kept[0])
        for try await entry in hub.events(after: kept[0]) {
            #expect(entry.position == hub.lastPosition)
            #expect(try entry.event.decode(Int.self) == 3)
            break
        }
        await hub.stop(grace: .zero)
    }

    @Test("a cancelled iteration ends")
    func cancellation() async throws {
        let hub = try await hub()
        let waiting = Task { for try await _ in hub.events() {} }
        waiting.cancel()
        try await waiting.value
        await hub.stop(grace: .zero)
    }

    @Test("an iteration that starts after the hub stopped ends")
    func iterationAfterStop() async throws {
        let hub = try await hub()
        await hub.stop(grace: .zero)
        for try await _ in hub.events() {}
        for try await _ in hub.events(after: .start) {}
    }

    @Test("invalid values are refused by name")
    func refusals() async throws {
        var options = Hub.Options()
        options.allowedNetworks = ["10.0.0.0/8", "10.0.0.0/99"]
        await #expect {
            try await Hub.open(folder: folder.path + "/other", options: options)
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/allowedNetworks/1"] }
        options = Hub.Options()
        options.deliveryThreads = 0
        options.eventRetention = .seconds(1)
        await #expect {
            try await Hub.open(folder: folder.path + "/other", options: options)
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/deliveryThreads", "/eventRetention"] }

        let hub = try await hub()
        await #expect {
            try await hub.publish("no type", 1)
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/type"] }
        await #expect {
            try await hub.publish("order.placed", Double.nan)
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/data"] }
        await #expect {
            try await hub.webhooks.add("ftp://example.com", events: ["order"])
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/url"] }
        await #expect {
            for try await _ in hub.events(matching: "no type") {}
        } throws: { ($0 as? HubError)?.fields.map(\.pointer) == ["/events/0"] }
        #expect(throws: HubError.self) { try ContentFilter(json: "{") }
        #expect(throws: HubError.self) { try ContentFilter(json: #"{"data": {"total": {"numeric": [">", 0]}}}"#) }
        #expect(throws: HubError.self) { try SigningSecret(text: "whsec_short") }
        #expect(try SigningSecret(text: "a-secret-of-github").scheme == .text)
        await #expect {
            try await self.hub()
        } throws: {
            guard case .store(.inUse) = $0 as? HubError else { return false }
            return true
        }
        await hub.stop(grace: .zero)
    }

    @Test("an event keeps its id and its date; a known id is reported as existing")
    func identity() async throws {
        let hub = try await hub()
        var event = try NewEvent("order.placed", ["when": Date(timeIntervalSince1970: 1)])
        event.id = "order-1"
        event.time = Date(timeIntervalSince1970: 1_614_265_330.999)
        let published = try #require(try await hub.publish([event]).first)
        #expect(published.event.id == "order-1")
        #expect(abs(published.event.date.timeIntervalSince1970 - 1_614_265_330.999) < 0.000_5)
        #expect(String(decoding: published.event.data, as: UTF8.self) == #"{"when":"1970-01-01T00:00:01.000Z"}"#)
        #expect(try published.event.decode([String: Date].self) == ["when": Date(timeIntervalSince1970: 1)])
        #expect(try await hub.publish([event]).map(\.disposition) == [.existed])
        await hub.stop(grace: .zero)
    }

    @Test("a package of a user builds and runs, with the code of the documentation, beside targets with common names")
    func adoption() async throws {
        let script = Repository.root.appending(path: "script/adoption").path
        let (end, text) = try await ChildProcess.run(script)
        #expect(end == .exited(0), "\(text.suffix(3_000))")
        let count = try #require(text.firstMatch(of: #/(\d+) programs of the documentation ran/#)?.1)
        #expect(Int(count) ?? 0 >= 7)
    }
}

@Suite("The public interface of the library")
struct BorderTests {
    private struct Declaration {
        let file: String
        let line: Int
        let isDocumented: Bool
    }

    private static func declarations(of module: String) throws -> [Declaration] {
        let folder = Repository.root.appending(path: "Sources/\(module)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".swift") && !$0.hasPrefix("Elsewhere/")
        }
        return try files.flatMap { file in
            let lines = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.trimmingPrefix(while: \.isWhitespace) }
            return lines.indices.compactMap { index -> Declaration? in
                guard lines[index].hasPrefix("public "), !lines[index].hasPrefix("public import ") else { return nil }
                let before = lines[..<index].last { !$0.hasPrefix("@") }
                return Declaration(
                    file: "\(module)/\(file)", line: index + 1,
                    // `Equatable` documents its operator.
                    isDocumented: before?.hasPrefix("///") == true || lines[index].contains("static func =="))
            }
        }
    }

    @Test("every public declaration is documented, and there are few of them")
    func border() throws {
        let all = try ["Herald", "HeraldCore", "HeraldDelivery", "HeraldModel"].flatMap(Self.declarations)
        for one in all where !one.isDocumented { Issue.record("\(one.file):\(one.line) has no documentation") }
        // More is a decision: an app has to read all of it, but for the fields of what it can ask about its webhooks.
        let (reports, rest) = (all.filter { $0.file.hasPrefix("Herald/Webhooks/") }.count, all.count)
        #expect((80...218).contains(rest - reports) && reports <= 170, "\(rest - reports) + \(reports) declarations")
        for module in ["HeraldSQLite", "HeraldWebhooks"] { #expect(try Self.declarations(of: module).isEmpty) }
    }
}
