import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The storage quota of an app")
struct QuotaTests {
    @Test("posts that share a transaction share what is left")
    func sharedTransaction() throws {
        let drafts = (1...5).map { EventDraft(event: Event("a.x", id: "e\($0)"), mayExist: false) }
        let limit = 3 * Int64(drafts[0].event.storedBytes)
        let memory = MemoryStore()
        try memory.transaction { (transaction) throws(StoreError) in
            var settings = App.default.settings
            settings.maxStoredBytes = limit
            try transaction.setApp(
                App(key: .default, id: App.default.id, settings: settings, createdAt: 1, updatedAt: 1, version: 2))
        }
        let world = try World(memory: memory)
        let refused = Recorder<Int64>()
        for draft in drafts {
            world.process.publish([draft]) { result in
                if case .refused(.quotaExceeded(let limit)) = result { refused.record(limit) }
            }
        }
        world.run()
        #expect(world.contents.events.map(\.id) == ["e1", "e2", "e3"])
        #expect(refused.items == [limit, limit])
    }
}
