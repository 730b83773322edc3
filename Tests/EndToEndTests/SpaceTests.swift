import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Synchronization
import Testing

@Suite("Space", .timeLimit(.minutes(20)), .serialized)
struct SpaceTests {
    /// Publishes events of 700 bytes, 200 at a time.
    private func publish(_ count: Int, _ type: String, to herald: HeraldProcess, from first: Int = 0) async throws {
        let data = String(repeating: "x", count: 700)
        for start in stride(from: first, to: first + count, by: 200) {
            let events = (start..<min(start + 200, first + count)).map {
                #"{"type": "\#(type).order", "id": "\#(type)-\#($0)", "data": "\#(data)"}"#
            }
            let answer = try await herald.post("/v1/events", "[\(events.joined(separator: ","))]")
            guard answer.status == 202 else { throw HeraldFailure(what: "not posted: \(answer.text)") }
        }
    }

    private func receiver() throws -> Receiver {
        var configuration = Receiver.Configuration()
        configuration.maxRecordedRequests = 2_000
        return try Receiver(configuration) { _ in .status(200) }
    }

    @Test("undelivered events stay while deliveries to other delegates fill the budget")
    func undelivered() async throws {
        let herald = try await HeraldProcess.start(["--retention-size", "16MiB"])
        let (held, busy) = (try receiver(), try receiver())
        defer {
            held.close()
            busy.close()
        }
        let paused = try await herald.register(held.url(), #""events": ["held.order"]"#).id
        #expect(try await herald.send("POST", "/v1/delegates/\(paused)/pause").status == 200)
        for path in ["/1", "/2"] { _ = try await herald.register(busy.url(path), #""events": ["busy.order"]"#) }
        try await publish(1_000, "held", to: herald)
        // 28 MB of events, and two deliveries of each. No faster than they are delivered: what is undelivered must fit.
        for first in stride(from: 0, to: 28_000, by: 2_000) {
            try await publish(2_000, "busy", to: herald, from: first)
            try await eventually("the others are delivered") { busy.requestCount >= 2 * (first + 2_000) }
        }
        _ = try await herald.get("/v1/events/busy-0") { $0.status == 404 }
        #expect(try await herald.get("/v1/events/held-0").status == 200)

        #expect(try await herald.send("POST", "/v1/delegates/\(paused)/resume").status == 200)
        try await eventually("the undelivered events arrive") { held.requestCount >= 1_000 }
        let ids = Set(await held.requests(1_000).compactMap { $0.header("webhook-id") })
        #expect(ids == Set((0..<1_000).map { "held-\($0)" }))
        #expect(try await herald.get("/metrics").text.contains("herald_deliveries_missed_total 0"))
        if TestStore.isFolder {
            let check = try await Binary.run(["check", herald.folder.path + "/data"])
            #expect(check.end == .exited(0), "\(check.text)")
        }
    }

    /// The counts of `removed` in GET /v1/storage.
    private func removed(_ storage: Answer) -> [String: Int64] {
        let rows = storage["removed"].map { Array($0.elements) } ?? []
        return Dictionary(
            rows.map { ("\($0["what"]?.string ?? "") \($0["cause"]?.string ?? "")", $0["count"]?.integer ?? -1) }
        ) { $1 }
    }

    @Test(
        "the budget of attempts is kept while deliveries continue, and costs no event",
        .enabled(if: TestStore.isFolder))
    func attempts() async throws {
        let herald = try await HeraldProcess.start(["--retention-attempts-size", "16MiB"])
        let database = herald.folder.path + "/data/herald.db"
        var configuration = HeraldReceiver.Receiver.Configuration()
        configuration.maxRecordedRequests = 100
        // An attempt keeps 1 KiB of the response.
        let response = String(repeating: "r", count: 1_024)
        let receiver = try Receiver(configuration) { _ in .status(200, body: response) }
        defer { receiver.close() }
        let delegates = 20
        for number in 0..<delegates { _ = try await herald.register(receiver.url("/\(number)")) }
        let largest = Largest()
        let watch = Task {
            while !Task.isCancelled {
                largest.record(try Files.size(database))
                try await Task.sleep(nanoseconds: 20_000_000)
            }
        }
        // 36 MB of attempts and 1.2 MB of events. No faster than they are delivered, so that the watch sees the steady state.
        let events = 1_600
        for first in stride(from: 0, to: events, by: 200) {
            let batch = (first..<first + 200).map { #"{"type": "some.order", "id": "some-\#($0)"}"# }
            let answer = try await herald.post("/v1/events", "[\(batch.joined(separator: ","))]")
            #expect(answer.status == 202)
            let due = (first + 200) * delegates
            try await eventually("they are delivered") { receiver.requestCount >= due }
        }
        watch.cancel()
        // On a busy machine the watch may have run before all of that only.
        largest.record(try Files.size(database))
        let storage = try await herald.get("/v1/storage")
        #expect(removed(storage)["attempts size"] ?? 0 > 0)
        #expect(removed(storage)["events size"] == 0)
        // The transactions that record attempts keep it. What else the database has, events with their indexes, is 1 MiB.
        #expect(largest.bytes <= 17 << 20)
        #expect(largest.bytes > 14 << 20)
        #expect(try await herald.get("/v1/events/some-0").status == 200)
        #expect(try await herald.stop() == .exited(0))
        let check = try await Binary.run(["check", herald.folder.path + "/data"])
        #expect(check.end == .exited(0), "\(check.text)")
    }

    @Test("GET /v1/storage shows parts, budgets and exact counts of what was removed, also after a kill")
    func storage() async throws {
        let arguments = ["--retention-size", "16MiB", "--retention", "2d"]
        var herald = try await HeraldProcess.start(arguments)
        let fresh = try await herald.get("/v1/storage")
        #expect(fresh.status == 200)
        #expect(removed(fresh).count == 6 && removed(fresh).values.allSatisfy { $0 == 0 })
        #expect(fresh["events"]?["max_bytes"]?.integer == 16 << 20)
        #expect(fresh["events"]?["max_age_seconds"]?.integer == 172_800)
        #expect(fresh["attempts"]?["max_bytes"]?.integer == 2 << 30)
        #expect(fresh["works"]?.bool == true && fresh["last_backup_at"]?.isNull == true)
        try await publish(24_000, "some", to: herald)
        _ = try await herald.get("/v1/storage") {
            ($0["removed"].map { Array($0.elements) } ?? [])[1]["count"]?.integer ?? 0 > 0
        }
        try await herald.kill()
        herald = try await herald.restart(arguments)
        // It may still remove: both are read while nothing changes.
        var again = try await herald.get("/v1/storage")
        var (text, before): (String, [String: Int64])
        repeat {
            before = removed(again)
            text = try await herald.get("/metrics").text
            again = try await herald.get("/v1/storage")
        } while removed(again) != before
        #expect(again["events"]?["bytes"]?.integer ?? 0 > 12 << 20)
        // The first position is one more than the number of those that are gone.
        let count = try #require(removed(again)["events size"])
        #expect(text.contains("\nherald_log_first_sequence \(count + 1)\n"))
        #expect(text.contains("\nherald_retention_removed_total{what=\"events\",cause=\"size\"} \(count)\n"))
    }

    @Test(
        "a budget is kept within a tenth under load, and the file shrinks when it is lowered",
        .enabled(if: TestStore.isFolder))
    func limit() async throws {
        var herald = try await HeraldProcess.start(["--retention-size", "unlimited"])
        let database = herald.folder.path + "/data/herald.db"
        // 28 MB on disk.
        try await publish(36_000, "first", to: herald)
        #expect(try await herald.stop() == .exited(0))
        #expect(try Files.size(database) > 24 << 20)
        herald = try await herald.restart(["--retention-size", "16MiB"])
        let limit = (16 << 20) * 11 / 10
        try await eventually("the file shrinks") { try Files.size(database) <= limit }
        let largest = Largest()
        let watch = Task {
            while !Task.isCancelled {
                largest.record(try Files.size(database))
                try await Task.sleep(nanoseconds: 20_000_000)
            }
        }
        try await publish(30_000, "second", to: herald)
        watch.cancel()
        largest.record(try Files.size(database))
        #expect(largest.bytes <= limit && largest.bytes > 12 << 20)
        #expect(try await herald.get("/v1/events/second-29999").status == 200)
        #expect(try await herald.stop() == .exited(0))
        #expect(try Files.size(database) <= limit)
        let check = try await Binary.run(["check", herald.folder.path + "/data"])
        #expect(check.end == .exited(0), "\(check.text)")
    }
}

private final class Largest: Sendable {
    private let value = Mutex(0)
    var bytes: Int { value.withLock { $0 } }
    func record(_ bytes: Int) { value.withLock { $0 = max($0, bytes) } }
}
