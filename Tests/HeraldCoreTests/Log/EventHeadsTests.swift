import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldModel

@Suite("Events in lists of deliveries")
struct EventHeadsTests {
    @Test("a list of deliveries and attempts keeps no data of its events in memory")
    func heads() throws {
        let store = MemoryStore()
        let event = Event(
            "order.paid", id: "e1", subject: "s", attributes: [KeyValue("source", "/shop")],
            data: "\"" + String(repeating: "x", count: 100_000) + "\"")
        try store.transaction { (transaction) throws(StoreError) in try transaction.append(event) }
        let reader = store.makeReader()
        let found = try EventHeads([1, 2], reader)
        let head = try #require(found[1])
        #expect(head.id == "e1" && head.type == "order.paid" && head.subject == "s" && head.time == event.time)
        #expect(head.attribute("source") == "/shop" && head.body.count < 200)
        #expect(found[2] == nil)
        let whole = try EventHeads.event(1, reader)
        #expect(whole?.data.count == event.data.count)
        #expect(try EventHeads.event(2, reader) == nil)
    }
}
