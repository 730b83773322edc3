import Foundation
import Herald
import HeraldTestSupport
import Testing

@Suite("Herald as a library", .timeLimit(.minutes(10)))
struct EmbeddingTests {
    private let folder = TemporaryFolder()

    private func hub() throws -> Hub {
        var options = Hub.Options()
        options.allowsLoopback = true
        return try Hub.open(folder: folder.path + "/data", options: options)
    }

    @Test("the example of the guide leaves its event on disk")
    func example() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        try await embed(inFolder: folder.path + "/data", calling: receiver.url())
        let hub = try hub()
        #expect(hub.head == 1)
        await hub.stop(grace: .zero)
    }

    @Test("a registered webhook gets an Encodable value as signed JSON")
    func webhook() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let hub = try hub()
        let secret = try SigningSecret.random()
        let settings = WebhookSettings(url: receiver.url("/hook"), events: [.prefix("order.")])
        let webhook = try await hub.register(settings, secret: secret)
        #expect(webhook.status == .active)
        #expect(hub.webhooks.map(\.id) == [webhook.id])
        // Once more, as an app does at its next start.
        #expect(try await hub.register(settings, secret: secret).id == webhook.id)

        let published = try await hub.publish("order.placed", subject: "order:1", data: Order(total: 12.5))
        #expect(published.disposition == .accepted)
        let request = try #require(await receiver.requests(1).first)
        #expect(request.text.contains(#""data":{"total":12.5}"#))
        let check = try SignatureCheck(keys: [secret.text])
        #expect(try check.verdict(on: request, now: Int64(Date().timeIntervalSince1970 * 1000)) == .verified)

        #expect(
            try await hub.updateWebhook(webhook.id) { $0.timeout = .milliseconds(1_500) }.settings.timeout
                == .seconds(2))
        try await hub.removeWebhook(webhook.id)
        #expect(hub.webhooks.isEmpty)
        await #expect(throws: WebhookError.self) { try await hub.removeWebhook(webhook.id) }
        await hub.stop(grace: .seconds(5))
    }

    @Test("a sequence returns the events of the log in order, from disk and from memory, until the hub stops")
    func sequence() async throws {
        let first = try hub()
        // More than one page.
        try await first.publish((1...600).map { try NewEvent("order.placed", subject: "order:\($0)", data: $0) })
        await first.stop(grace: .zero)

        let hub = try hub()
        let all = Task {
            var numbers: [Int] = []
            for try await entry in hub.events(after: .start) {
                #expect(entry.position.number == LogPosition(numbers.count + 1))
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
        for number in 601...700 { try await hub.publish("order.placed", subject: "order:\(number)", data: number) }
        #expect(try await all.value == Array(1...700))
        // What was published after it was made.
        #expect(try await some.value == [700])
    }

    @Test("a position is kept as a number, and an iteration continues behind it after a restart")
    func position() async throws {
        let first = try hub()
        #expect(first.lastPosition == .start)
        try await first.publish((1...3).map { try NewEvent("order.placed", data: $0) })
        await first.stop(grace: .zero)
        let kept = try JSONDecoder().decode([EventPosition].self, from: Data("[2, -1]".utf8))
        #expect(try JSONEncoder().encode(kept) == Data("[2,0]".utf8))

        let hub = try hub()
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
        let hub = try hub()
        let waiting = Task { for try await _ in hub.events() {} }
        waiting.cancel()
        try await waiting.value
        await hub.stop(grace: .zero)
    }

    @Test("an iteration that starts after the hub stopped ends")
    func iterationAfterStop() async throws {
        let hub = try hub()
        await hub.stop(grace: .zero)
        for try await _ in hub.events() {}
        for try await _ in hub.events(after: .start) {}
    }

    @Test("invalid values are refused by name")
    func refusals() async throws {
        var options = Hub.Options()
        options.allowedNetworks = ["10.0.0.0/8", "10.0.0.0/99"]
        #expect {
            try Hub.open(folder: folder.path + "/other", options: options)
        } throws: { ($0 as? InvalidInput)?.errors.map(\.pointer) == ["/allowedNetworks/1"] }
        options = Hub.Options()
        options.deliveryThreads = 0
        options.eventRetention = .seconds(1)
        #expect {
            try Hub.open(folder: folder.path + "/other", options: options)
        } throws: { ($0 as? InvalidInput)?.errors.map(\.pointer) == ["/deliveryThreads", "/eventRetention"] }

        let hub = try hub()
        await #expect {
            try await hub.publish("no type", data: 1)
        } throws: {
            guard case .invalid(let errors) = $0 as? WriteRefusal else { return false }
            return errors.map(\.pointer) == ["/type"]
        }
        await #expect {
            try await hub.register(WebhookSettings(url: "ftp://example.com"), secret: .random())
        } throws: {
            guard case .invalid(let errors) = $0 as? WebhookError else { return false }
            return errors.map(\.pointer) == ["/url"]
        }
        #expect(throws: InvalidInput.self) { try ContentFilter(json: "{") }
        #expect {
            try self.hub()
        } throws: {
            guard case .inUse = $0 as? StoreError else { return false }
            return true
        }
        await hub.stop(grace: .zero)
    }

    @Test("an event keeps its id and its date; a known id is reported as existing")
    func identity() async throws {
        let hub = try hub()
        var event = try NewEvent("order.placed", data: ["when": Date(timeIntervalSince1970: 1)])
        event.id = "order-1"
        event.time = Date(timeIntervalSince1970: 1_614_265_330.999)
        let published = try #require(try await hub.publish([event]).first)
        #expect(published.event.id == "order-1")
        #expect(abs(published.event.date.timeIntervalSince1970 - 1_614_265_330.999) < 0.000_5)
        #expect(String(decoding: published.event.data, as: UTF8.self) == #"{"when":"1970-01-01T00:00:01Z"}"#)
        #expect(try published.event.decode([String: Date].self) == ["when": Date(timeIntervalSince1970: 1)])
        #expect(try await hub.publish([event]).map(\.disposition) == [.existed])
        await hub.stop(grace: .zero)
    }

    @Test(
        "a package whose other packages have targets with common names builds with both products and runs")
    func outside() async throws {
        let package = Repository.root.appending(path: "Tests/Outside").path
        let scratch = Repository.root.appending(path: ".build/outside").path
        // SwiftPM does not always notice that a type of a package that it depends on has another layout.
        try? FileManager.default.removeItem(atPath: scratch)
        let arguments = [
            "swift", "run", "--package-path", package, "--scratch-path", scratch, "App", folder.path + "/data",
        ]
        let (end, text) = try await ChildProcess.run("/usr/bin/env", arguments, within: 540)
        #expect(end == .exited(0), "\(text.suffix(2_000))")
        #expect(text.contains("1 order.placed 12.5\n32 3 null HTTPClient 2"), "\(text.suffix(2_000))")
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
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
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
        let all = try Self.declarations(of: "Herald") + Self.declarations(of: "HeraldCore")
        for one in all where !one.isDocumented { Issue.record("\(one.file):\(one.line) has no documentation") }
        // More is a decision: an app has to read all of it.
        #expect((80...180).contains(all.count), "\(all.count) public declarations")
        for module in ["HeraldSQLite", "HeraldWebhooks"] { #expect(try Self.declarations(of: module).isEmpty) }
    }
}
