import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Housekeeping")
struct HousekeepingTests {
    @Test("the writer runs maintenance although a transaction is always under way")
    func underLoad() throws {
        let world = try World()
        let clock = world.clock
        world.store.duringTransaction.withLock { $0 = { clock.advance(seconds: 0.6) } }
        for _ in 1...20 { world.publish() }
        #expect(world.store.kinds.items.count { $0 == .deciding } >= 6)
    }

    @Test("the log is marked once a minute as it grows, and not while it doesn't")
    func marks() throws {
        let world = try World()
        for _ in 1...10 {
            world.publish()
            world.clock.advance(seconds: 20)
        }
        let marks = world.contents.marks
        #expect(marks.map(\.sequence) == [0, 1, 3, 4, 6, 7, 9, 10], "before and after what is appended")
        world.clock.advance(seconds: 200)
        world.register()
        #expect(world.contents.marks.count == 8)
    }

    @Test("a probe of the storage leaves no mark: the clock may be wrong then, and retention removes events by marks")
    func probe() throws {
        let world = try World()
        world.publish()
        let marks = world.contents.marks
        world.store.fail(.full)
        world.publish()
        let transactions = world.store.kinds.items.count
        world.clock.advance(seconds: 2)
        world.catchUp()
        #expect(world.store.kinds.items.count > transactions)
        #expect(world.contents.marks == marks)
        world.clock.advance(seconds: 2)
        world.publish()
        #expect(world.contents.answers.isEmpty)
    }

    @Test("removal of expired responses keeps up with more than 500 requests per second")
    func expiredUnderLoad() throws {
        let world = try World(memory: Self.memory(expired: 1_500))
        for _ in 1...3 {
            world.publish()
            world.clock.advance(seconds: 0.02)
        }
        #expect(world.contents.answers.isEmpty, "each transaction removes 501")
    }

    @Test("a transaction with many requests removes more expired responses than it can store")
    func expiredInLargeTransaction() throws {
        let world = try World(memory: Self.memory(expired: 1_200))
        for number in 1...700 {
            let event = Event(
                id: "many\(number)", type: "a.x", subject: nil, time: world.clock.wall, data: Array("{}".utf8))
            world.process.publish([EventDraft(event: event, mayExist: false)]) { _ in }
        }
        world.run()
        #expect(world.contents.answers.isEmpty && world.contents.events.count == 700)
    }

    @Test("a writer without requests removes the rest of the expired responses, and then nothing more")
    func expiredWithoutLoad() throws {
        let world = try World(memory: Self.memory(expired: 3_000))
        world.publish()
        #expect(!world.contents.answers.isEmpty)
        for _ in 1...6 {
            world.clock.advance(seconds: 0.02)
            world.catchUp()
        }
        #expect(world.contents.answers.isEmpty)
        let transactions = world.store.kinds.items.count
        world.clock.advance(seconds: 0.02)
        world.catchUp()
        #expect(world.store.kinds.items.count == transactions)
    }

    @Test("a failed removal of expired responses is repeated with the next request, and not before")
    func expiredAndFailing() throws {
        let world = try World(memory: Self.memory(expired: 3_000))
        world.publish()
        let left = world.contents.answers.count
        world.store.fail(.full)
        world.clock.advance(seconds: 0.02)
        world.catchUp()
        let transactions = world.store.kinds.items.count
        world.clock.advance(seconds: 0.02)
        world.catchUp()
        #expect(world.store.kinds.items.count == transactions && world.contents.answers.count == left)
        world.clock.advance(seconds: 1.1)
        world.publish()
        #expect(world.contents.answers.count < left)
    }

    private static func memory(expired count: Int) throws -> MemoryStore {
        let memory = MemoryStore()
        let answer = StoredAnswer(fingerprint: [], status: 204, headers: [], body: [])
        try memory.transaction { (transaction) throws(StoreError) in
            for number in 1...count {
                try transaction.setAnswer(answer, app: .default, key: "k\(number)", expiresAt: 1)
            }
        }
        return memory
    }
}
