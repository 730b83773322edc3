import Foundation
import Herald
import HeraldTestSupport
import Testing

@Suite("Following the events of a hub in a process", .timeLimit(.minutes(20)))
struct FollowTests {
    private let folder = TemporaryFolder()

    private func makeHub() async throws -> Hub {
        try await Hub.open(folder: folder.path + "/data")
    }

    /// Publishes numbers, a hundred at a time.
    private func publish(_ numbers: ClosedRange<Int>, _ hub: Hub) async throws {
        for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 100) {
            try await hub.publish(
                (first...min(first + 99, numbers.upperBound)).map { try NewEvent("number.drawn", $0) })
        }
    }

    @Test("a slow consumer delays no other consumer, misses nothing, and continues after a restart where it stopped")
    func slowConsumer() async throws {
        var seen: [Int] = []
        var position = EventPosition.start
        for run in 0..<3 {
            let hub = try await makeHub()
            // All are accepted while the consumer has not asked for any of them: nothing is kept for it but its position.
            let sequence = hub.events(after: position, matching: "number.*")
            try await publish(run * 2_000 + 1...run * 2_000 + 2_000, hub)
            #expect(hub.lastPosition.rawValue == Int64(run + 1) * 2_000)
            // It handles fewer than were published, and is stopped in the middle of a page.
            var iterator = sequence.makeAsyncIterator()
            for _ in 0..<1_333 {
                let entry = try #require(try await iterator.next())
                seen.append(try entry.event.decode())
                position = entry.position
            }
            await hub.stop(grace: .zero)
        }
        let hub = try await makeHub()
        for try await entry in hub.events(after: position, through: hub.lastPosition) {
            seen.append(try entry.event.decode())
        }
        #expect(seen == Array(1...6_000))
        await hub.stop(grace: .zero)
    }

    @Test("a sequence with an end returns what is there, whatever its last event is")
    func end() async throws {
        let hub = try await makeHub()
        for try await _ in hub.events(after: .start, through: hub.lastPosition) { Issue.record("the log is empty") }
        try await publish(1...300, hub)
        try await hub.publish("other.type", 0)
        let sequence = hub.events(after: .start, through: hub.lastPosition, matching: "number.*")
        try await publish(301...302, hub)
        var count = 0
        for try await _ in sequence { count += 1 }
        #expect(count == 300)
        await hub.stop(grace: .zero)
    }

    @Test("a position of a longer log, as before the restore of a backup, skips nothing", arguments: [3, Int64.max])
    func longerLog(_ number: Int64) async throws {
        let hub = try await makeHub()
        try await publish(1...1, hub)
        var iterator = hub.events(after: EventPosition(rawValue: number)).makeAsyncIterator()
        try await publish(2...2, hub)
        let entry = try #require(try await iterator.next())
        #expect(try entry.event.decode(Int.self) == 2 && entry.position.rawValue == 2)
        await hub.stop(grace: .zero)
    }

    @Test("a sequence of attempts passes over those of which nothing is known any more")
    func unknownAttempts() async throws {
        let store = MemoryStore()
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        _ = try store.transaction(.deciding) { (transaction) throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1))
            var checkpoint = Checkpoint()
            checkpoint.attempts = (1...300).map { attempt(77, LogPosition($0), startedAt: now) }
            checkpoint.attempts.append(attempt(1, 301, startedAt: now))
            try transaction.write(checkpoint)
        }
        let hub = try Hub.inMemory(store: store)
        let ids = Recorder<Int64?>()
        let following = Task {
            for try await attempt in hub.webhooks.followAttempts(after: 0) { ids.record(attempt.id) }
        }
        let found = try? await ids.first(1)
        await hub.stop(grace: .zero)
        try await following.value
        #expect(found == [301])
    }

    @Test("a scheduled event that is damaged is listed without its data")
    func damagedScheduled() async throws {
        let store = MemoryStore()
        let due = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
        _ = try store.transaction(.deciding) { (transaction) throws(StoreError) in
            try transaction.addPending(Event("order.due", id: "order-1", data: "{}").damaged(), dueAt: due)
        }
        let hub = try Hub.inMemory(store: store)
        let found = try await hub.scheduledEvents().elements.map(\.event)
        #expect(found.map(\.id) == ["order-1"] && found.allSatisfy { $0.data.elementsEqual("null".utf8) })
        await hub.stop(grace: .zero)
    }

    @Test("a damaged scheduled event that is due is in the log of its hub, since it is not published")
    func damagedDue() async throws {
        let (clock, store) = (ManualClock(), MemoryStore())
        let due = clock.wall + 3_600_000
        _ = try store.transaction(.deciding) { (transaction) throws(StoreError) in
            try transaction.addPending(Event("order.due", id: "order-1", data: "{}").damaged(), dueAt: due)
            try transaction.setPendingCount(PendingCount(app: .default, events: 1, bytes: 1))
        }
        let hub = try Hub.inMemory(store: store, clock: clock.clock)
        let entries = Recorder<LogEntry>()
        var options = Hub.Options()
        options.onLog = { entries.record($0) }
        options.log(hub)
        clock.advance(seconds: 3_601)
        try await hub.publish("order.placed", 1)
        try await eventually("it is in the log") {
            entries.items.contains { $0.level == .warning && $0.fields.contains(KeyValue("id", "order-1")) }
        }
        await hub.stop(grace: .zero)
    }

    @Test("logins, logouts and states are published as values")
    func families() async throws {
        struct User: Codable, Equatable {
            let id: Int
            let name: String
        }
        let hub = try await makeHub()
        try await hub.publish(.loggedIn(User(id: 42, name: "Ada")))
        try await hub.publish(.loggedOut(userID: "42"))
        let bob = ["user": User(id: 7, name: "Bob")]
        try await hub.publish([.loggedIn(User(id: 7, name: "Bob")), NewEvent("auth.logged_out", bob)])
        try await hub.publish(.appState(["data_retrieval": "success"]))
        var types: [String] = []
        for try await entry in hub.events(after: .start, through: hub.lastPosition) {
            types.append("\(entry.event.type) \(entry.event.subject ?? "-")")
        }
        #expect(
            types == [
                "auth.logged_in user:42", "auth.status_changed user:42", "auth.logged_out user:42",
                "auth.status_changed user:42", "auth.logged_in user:7", "auth.status_changed user:7",
                "auth.logged_out user:7", "auth.status_changed user:7", "app_state.changed -",
            ])
        await hub.stop(grace: .zero)
    }

    @Test("a hub that is released gives its folder free, also while a task still publishes")
    func release() async throws {
        for _ in 1...3 {
            let publishing = try await {
                let hub = try await makeHub()
                return Task { try await publish(1...200, hub) }
            }()
            try await publishing.value
            // The task has released the hub, or is about to.
            let next = try await eventuallyOpen()
            await next.stop(grace: .zero)
        }
    }

    private func eventuallyOpen() async throws -> Hub {
        while true {
            do throws(HubError) {
                return try await Hub.open(folder: folder.path + "/data")
            } catch {
                guard case .store(.inUse) = error else { throw error }
                await Task.yield()
            }
        }
    }
}
