import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore

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
}
