import HeraldTestSupport
import Testing

@testable import HeraldAPI
@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Backlogs", .timeLimit(.minutes(20)))
struct BacklogTests {
    private func delegate(
        _ key: DelegateKey, _ change: (inout WebhookSettings) -> Void = { _ in }
    ) -> WebhookDelegate {
        WebhookDelegate(key, status: .paused) { settings in
            settings.events = [.exact("a.x")]
            change(&settings)
        }
    }

    private func lane(_ next: LogPosition?, ahead: Set<LogPosition> = []) -> LaneSnapshots.Entry {
        LaneSnapshots.Entry(
            cursor: next.map { $0 - 1 }, inFlight: 0, retrying: 0, replays: 0, flow: FlowStatus(), next: next,
            ahead: ahead)
    }

    /// Publishes events. The first of each five matches; their times are their positions.
    private func publish(_ count: Int, _ hub: Hub) async throws {
        var published = Int(hub.head)
        while published < count {
            let drafts = (published..<min(count, published + 1_000)).map { (place: Int) -> EventDraft in
                let type = place % 5 == 0 ? "a.x" : "b.x"
                let number = place + 1
                return EventDraft(event: Event(type, id: "e\(number)", time: Int64(number)), mayExist: false)
            }
            published += try await hub.publish(drafts).count
        }
    }

    @Test("counting large events keeps no more bytes than a list takes, or one page")
    func large() async throws {
        let store = MemoryStore()
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = 1
        configuration.maxListBytes = 10_000
        let hub = try Hub.inMemory(store: store, configuration: configuration)
        defer { hub.stop(grace: 0) }
        let data = "\"" + String(repeating: "x", count: 150_000) + "\""
        for number in 1...12 {
            let event = Event("a.x", id: "e\(number)", data: data)
            _ = try await hub.publish([EventDraft(event: event, mayExist: false)])
        }
        let counter = BacklogCounter(hub, store.makeReader())
        let delegates = (1...3 as ClosedRange<DelegateKey>).map { delegate($0) }
        let counts = try counter.count(delegates.map { (delegate: $0, entry: lane($0.key)) })
        #expect(delegates.map { counts[$0.key]?.events } == [12, 11, 10])
        #expect(counts.values.allSatisfy { !$0.isEstimate })
        #expect(counter.bytes < 500_000)
    }

    @Test("matching events are counted exactly up to 10,000, and estimated beyond", arguments: [64, 16_384])
    func counting(tailEvents: Int) async throws {
        let store = MemoryStore()
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = tailEvents
        let hub = try Hub.inMemory(store: store, configuration: configuration)
        defer { hub.stop(grace: 0) }
        func count(_ entry: LaneSnapshots.Entry, isReadable: Bool = true) throws -> Backlog? {
            try BacklogCounter(hub, isReadable ? store.makeReader() : nil).count([(delegate(7), entry)])[7]
        }
        try await publish(10_000, hub)
        var expected = Backlog()
        (expected.events, expected.oldest) = (2_000, 1)
        #expect(try count(lane(1)) == expected)
        (expected.events, expected.oldest) = (1_998, 6)
        #expect(try count(lane(2, ahead: [11])) == expected)
        #expect(try count(lane(9_997)) == Backlog())
        #expect(try count(lane(nil)) == nil)
        let replay = try BacklogCounter(hub, store.makeReader()).count(delegate(7), after: 10, through: 20)
        #expect(replay.events == 2 && !replay.isEstimate)
        try await publish(12_000, hub)
        (expected.events, expected.oldest, expected.isEstimate) = (2_400, 1, true)
        #expect(try count(lane(1)) == expected)
        // Of what only the store has, the newest events stand for it, or all of it counts.
        let blind = try #require(try count(lane(1), isReadable: false))
        #expect(blind.isEstimate && (2_200...12_000).contains(blind.events))
    }

    @Test("an event addressed to the delegate counts if its filter matches; events addressed to others do not")
    func addressed() async throws {
        let store = MemoryStore()
        let hub = try Hub.inMemory(store: store)
        defer { hub.stop(grace: 0) }
        let drafts = [(7, 1), (7, 2), (8, 1)].enumerated().map { place, event in
            EventDraft(
                event: Event(
                    "a.x", id: "e\(place)", time: 1, audience: DelegateKey(event.0),
                    data: #"{"n":\#(event.1)}"#), mayExist: false)
        }
        _ = try await hub.publish(drafts)
        let filtered = delegate(7) { $0.filter = ContentFilter(text: Array(#"{"data":{"n":[1]}}"#.utf8)) }
        let counter = BacklogCounter(hub, store.makeReader())
        #expect(try counter.count([(filtered, lane(1))])[7]?.events == 1)
        #expect(try counter.count([(delegate(7), lane(1))])[7]?.events == 2)
    }

    @Test("many delegates that are far behind share the work, and the least behind are counted first")
    func many() async throws {
        let store = MemoryStore()
        let hub = try Hub.inMemory(store: store)
        defer { hub.stop(grace: 0) }
        try await publish(12_000, hub)
        let far = (1...300).map { (delegate: delegate(DelegateKey($0)), entry: lane(1)) }
        let near = (delegate: delegate(1_000), entry: lane(11_801))
        let counts = try BacklogCounter(hub, store.makeReader()).count(far + [near])
        #expect(counts.count == 301)
        #expect(counts[1_000]?.events == 40 && counts[1_000]?.isEstimate == false)
        for (key, backlog) in counts where key != 1_000 {
            #expect(backlog.isEstimate && (2_380...2_420).contains(backlog.events), "\(key)")
        }
    }
}
