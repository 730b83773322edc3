import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Recent events")
struct RecentEventsTests {
    private func event(_ number: Int, bytes: Int = 0) -> Event {
        Event("a", id: "\(number)", data: "\"" + String(repeating: "x", count: bytes) + "\"")
    }

    @Test("the oldest are dropped when there are too many")
    func bounds() {
        var recent = EventWindow(after: 100, maxEvents: 10, maxBytes: 1 << 20)
        #expect(recent.first == 101 && recent.last == 100)
        for number in 101...2_000 { recent.append(event(number)) }
        #expect(recent.first == 1_991 && recent.last == 2_000)
        #expect(recent[1_991].id == "1991" && recent[2_000].id == "2000")
        #expect(recent.slice(after: 1_995, limit: 3).events.map(\.id) == ["1996", "1997", "1998"])
    }

    @Test("large events are released soon after they were dropped")
    func bytes() {
        var recent = EventWindow(after: 0, maxEvents: 1_000, maxBytes: 100_000)
        weak var dropped: Event?
        do {
            let first = event(1, bytes: 10_000)
            dropped = first
            recent.append(first)
        }
        for number in 2...20 { recent.append(event(number, bytes: 10_000)) }
        #expect(recent.last == 20 && recent.first >= 10)
        #expect(dropped == nil)
    }

    @Test("an event larger than the bound leaves no recent events, and the log continues")
    func tooLarge() {
        var recent = EventWindow(after: 0, maxEvents: 10, maxBytes: 100)
        recent.append(event(1, bytes: 1_000))
        #expect(recent.first == 2 && recent.last == 1)
        recent.append(event(2))
        #expect(recent.first == 2 && recent.last == 2)
    }

    @Test("the end of the log is known from dropped events")
    func slices() throws {
        let recentEvents = RecentEvents(head: 5, maxEvents: 3)
        guard case .end = recentEvents.slice(after: 5, limit: 10) else { throw Unexpected("not the end") }
        guard case .gone(first: 6) = recentEvents.slice(after: 4, limit: 10) else { throw Unexpected("not gone") }
        recentEvents.published(EventBatch(first: 6, events: (6...10).map { event($0) }))
        #expect(recentEvents.head == 10)
        guard case .gone(first: 8) = recentEvents.slice(after: 6, limit: 10) else { throw Unexpected("not gone") }
        guard case .events(let batch) = recentEvents.slice(after: 7, limit: 2) else { throw Unexpected("nothing") }
        #expect(batch.first == 8 && batch.events.map(\.id) == ["8", "9"])
        guard case .end = recentEvents.slice(after: 10, limit: 10) else { throw Unexpected("not the end") }
    }
}
