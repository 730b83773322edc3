import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The feed of events", .timeLimit(.minutes(20)))
struct EventFeedTests {
    private let bench: HubBench
    private let feed: EventFeed

    init() throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = 8
        bench = try HubBench(configuration: configuration)
        feed = EventFeed(hub: bench.hub)
        bench.hub.addDelegate(feed, description: "feed")
    }

    private func query(_ type: String = "*", after position: LogPosition = 0, limit: Int = 5) -> EventQuery {
        var query = EventQuery()
        query.types = [EventPattern(unchecked: type)]
        query.after = position
        query.limit = limit
        return query
    }

    private func page(_ query: EventQuery) async throws -> EventFeed.Page {
        try await withCheckedThrowingContinuation { continuation in
            let isTaken = bench.hub.read(app: .default) { reader in
                continuation.resume(with: Result { try feed.page(query, reader.get()) })
            }
            if !isTaken { continuation.resume(throwing: HubError.busy) }
        }
    }

    private func wait(_ query: EventQuery, seconds: Int = 60) async throws -> EventFeed.Page {
        try await withCheckedThrowingContinuation { continuation in
            feed.wait(query, seconds: seconds) { continuation.resume(with: $0) }
        }
    }

    /// Reads and waits until an event with this id.
    private func ids(_ type: String, until last: String) async throws -> [String] {
        var query = query(type)
        var ids: [String] = []
        while ids.last != last {
            var page = try await page(query)
            if page.events.isEmpty && !page.hasMore {
                query.after = page.next
                page = try await wait(query)
            }
            #expect(!page.isTruncated && page.events.count <= query.limit)
            ids += page.events.map(\.event.id)
            query.after = page.next
        }
        return ids
    }

    @Test("readers that wait get every event once, in order, from memory and from the store")
    func once() async throws {
        let types = ["*", "a.*", "a.b", "b.*", "*", "a.*"]
        let readers = types.map { type in Task { try await ids(type, until: type == "b.*" ? "e299" : "e300") } }
        // These wait for the last event, however long the machine takes for those before it.
        let others = (0..<100).map { _ in Task { try await wait(query("c.*"), seconds: 3_600) } }
        var wanted: [(id: String, type: String)] = []
        for number in 0..<301 {
            let (id, type) = ("e\(number)", number.isMultiple(of: 2) ? "a.b" : "b.c")
            _ = try await bench.post(type, id: id)
            wanted.append((id, type))
        }
        for (type, reader) in zip(types, readers) {
            let pattern = try #require(EventPattern(type))
            #expect(try await reader.value == wanted.filter { pattern.matches($0.type) }.map(\.id), "\(type)")
        }
        _ = try await bench.post("c.d", id: "end")
        for other in others { #expect(try await other.value.events.map(\.event.id) == ["end"]) }
        await bench.stop()
    }

    @Test("a search ends after a bounded piece of work, and continues from there")
    func boundedWork() async throws {
        let drafts = (0..<1_000).map { _ in
            EventDraft(event: Event("a.b", id: bench.hub.ids.next("evt_", time: 0)), mayExist: false)
        }
        for number in 0..<12 {
            let fresh = drafts.map { EventDraft(event: Event("a.b", id: "\($0.event.id)-\(number)"), mayExist: false) }
            _ = await bench.publish(fresh)
        }
        _ = try await bench.post("wanted", id: "w")
        let first = try await page(query("wanted"))
        #expect(first.events.isEmpty && first.hasMore && (10_000..<12_000).contains(first.next))
        let second = try await page(query("wanted", after: first.next))
        #expect(second.events.map(\.event.id) == ["w"] && !second.hasMore && second.next == 12_001)
        await bench.stop()
    }

    @Test("what other apps have published adds no page")
    func otherApps() async throws {
        let other = try await bench.addApp()
        _ = try await bench.post("a.b", id: "first")
        for batch in 0..<12 {
            let drafts = (0..<1_000).map { number in
                EventDraft(event: Event("a.b", id: "e\(batch)-\(number)", app: other), mayExist: false)
            }
            _ = await bench.publish(drafts, app: other)
        }
        let first = try await page(query())
        #expect(first.events.map(\.event.id) == ["first"] && !first.hasMore && first.next == 12_001)
        _ = try await bench.post("a.b", id: "last")
        let second = try await page(query(after: first.next))
        #expect(second.events.map(\.event.id) == ["last"] && !second.hasMore && !second.isTruncated)
        await bench.stop()
    }

    @Test("the events of an app are not searched for the requests of other apps that wait")
    func idleApps() async throws {
        let other = try await bench.addApp()
        let head = bench.hub.head
        var idle = query(after: head)
        idle.app = other
        let ends = Mutex<[LogPosition]>([])
        for _ in 0..<10 {
            feed.wait(idle, seconds: 3_600) { result in
                if let page = try? result.get() { ends.withLock { $0.append(page.next) } }
            }
        }
        let own = Task { try await wait(query(after: head)) }
        _ = try await bench.post("a.b", id: "own")
        #expect(try await own.value.events.map(\.event.id) == ["own"])
        #expect(feed.searches == 1)
        let end = bench.hub.head
        await bench.stop()
        #expect(ends.withLock { $0 } == Array(repeating: end, count: 10), "behind the events of the other app")
    }

    @Test("a hub that stops while too many reads wait does not search for those that wait again and again")
    func stopsWhileReadsWait() async throws {
        let clockReads = Counter()
        let bench = try HubBench(clock: .counting(clockReads)) { _ in .manual }
        let feed = EventFeed(hub: bench.hub)
        await bench.register()
        _ = try await bench.post("a.b")
        // The hub waits for its end.
        try await eventually("a callback is open") { !bench.sender.open.isEmpty }
        let (gate, blocked) = (Flag(), Counter())
        defer { gate.set() }
        let threads = Hub.Configuration().readers
        for _ in 0..<threads {
            let isTaken = bench.hub.read(app: nil) { _ in
                blocked.next()
                _ = try? blockUntil("the reads may end") { gate.isSet }
            }
            #expect(isTaken)
        }
        try await eventually("all threads read") { blocked.value == threads }
        while bench.hub.read(app: nil, { _ in }) {}
        let hasEnded = Flag()
        feed.wait(query(), seconds: 3_600) { _ in hasEnded.set() }
        let stop = Task { await bench.stop() }
        try await eventually("the wait ends with the hub") { hasEnded.isSet }
        try await eventuallyStable("the hub rests") { clockReads.value }
        for callback in bench.sender.open { bench.sender.finish(callback.token, .success) }
        gate.set()
        await stop.value
    }

    @Test("a page says that events were removed, also where only older ones and those of other apps are left")
    func removedEvents() async throws {
        for batch in 0..<4 {
            let drafts = (0..<1_000).map { number in
                EventDraft(event: Event("a.b", id: "e\(batch)-\(number)"), mayExist: false)
            }
            _ = await bench.publish(drafts)
        }
        let other = try await bench.addApp()
        let last = Event("a.b", id: "last", app: other)
        _ = await bench.publish([EventDraft(event: last, mayExist: false)], app: other)
        let isRemoved = await withCheckedContinuation { continuation in
            bench.hub.submit(TrimWrite(events: [2...4_000]) { continuation.resume(returning: $0) })
        }
        #expect(isRemoved)
        let page = try await page(query(after: 1_500))
        #expect(page.events.isEmpty && page.isTruncated && page.next == 4_001)
        await bench.stop()
    }

    @Test("the bytes of a page are bounded, and a larger event comes alone")
    func boundedBytes() async throws {
        for number in 0..<6 {
            _ = try await bench.post("a.b", id: "e\(number)", data: "\"\(String(repeating: "x", count: 400))\"")
        }
        var query = query()
        query.maxBytes = 1_000
        var found: [[String]] = []
        repeat {
            let page = try await page(query)
            found.append(page.events.map(\.event.id))
            query.after = page.next
        } while query.after < bench.hub.head
        #expect(found == [["e0", "e1"], ["e2", "e3"], ["e4", "e5"]])
        query = self.query()
        query.maxBytes = 10
        #expect(try await page(query).events.map(\.event.id) == ["e0"])
        await bench.stop()
    }

    @Test("when the time is up, the page is empty and behind the events that did not match")
    func timeIsUp() async throws {
        let waiting = Task { try await wait(query("c.*"), seconds: 1) }
        for _ in 0..<20 { _ = try await bench.post("a.b") }
        let page = try await waiting.value
        #expect(page.events.isEmpty && !page.hasMore && !page.isTruncated)
        let rest = try await self.page(query("a.*", after: page.next, limit: 50))
        #expect(LogPosition(rest.events.count) == 20 - page.next)
        await bench.stop()
    }
}
