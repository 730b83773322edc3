import Delegation
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("What operators learn of nodes")
struct NodeMonitorTests {
    private final class Book: NodeObserver {
        private let changes = Mutex<[NodeChange]>([])
        var all: [NodeChange] { changes.withLock { $0 } }
        func nodeChanged(_ change: NodeChange) { changes.withLock { $0.append(change) } }
    }

    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let book = Book()

    private func world(_ node: NodeKey) throws -> World {
        try World(memory: memory, clock: clock, node: node.rawValue)
    }

    @Test("shards that are taken, released and lost are reported with the shards of the node, the first ones also late")
    func moves() throws {
        let (one, two) = (NodeKey(rawValue: 1), NodeKey(rawValue: 2))
        let a = try world(one)
        let monitor = NodeMonitor(one, shards: a.process.counts, permit: DeliveryPermit(), clock: clock.clock)
        World.advance([a], seconds: 2)
        monitor.notifyOfChanges()
        monitor.observers.addDelegate(book)
        monitor.notifyOfChanges()
        monitor.notifyOfChanges()
        #expect(book.all == [.moved(.taken, 64, has: 64, nodes: 1)])

        let b = try world(two)
        World.advance([a, b], seconds: 20)
        monitor.notifyOfChanges()
        #expect(book.all.last == .moved(.given, 32, has: 32, nodes: 2))
        let nodes = try monitor.list(memory.makeReader(), settled: 0)
        #expect(nodes.map(\.node) == [one, two] && nodes.allSatisfy { $0.isPresent && $0.settled != nil })
        #expect(nodes.map(\.shards) == [a.process.counts.held, b.process.counts.held])

        // It sleeps until the other one has its shards.
        World.advance([b], seconds: 8)
        a.store.memoryLeases?.endSession()
        World.advance([b], seconds: 3)
        let gone = try monitor.list(memory.makeReader(), settled: 0)
        #expect(gone.map(\.isPresent) == [false, true] && gone.map(\.shards) == [[], .all])
        #expect(gone.first?.settled == nil)
        World.advance([a], seconds: 1)
        monitor.notifyOfChanges()
        #expect(book.all.last == .moved(.lost, 32, has: 0, nodes: 2))
        #expect(a.process.counts.count(.given) == 32 && a.process.counts.count(.lost) == 32)
    }

    @Test("a pause of deliveries is reported once, and its end once, with the time")
    func pauses() throws {
        let permit = DeliveryPermit(isLimited: true)
        let node = NodeKey(rawValue: 1)
        let monitor = NodeMonitor(node, shards: ShardCounts([]), permit: permit, clock: clock.clock)
        monitor.observers.addDelegate(book)
        monitor.notifyOfChanges()
        #expect(book.all.isEmpty && !monitor.isPermitted, "it has not begun")
        func hear() {
            let now = clock.clock.monotonic()
            _ = permit.renew(alive: now, now: now)
        }
        hear()
        monitor.notifyOfChanges()
        #expect(book.all.isEmpty && monitor.isPermitted)
        clock.advance(seconds: 6)
        monitor.notifyOfChanges()
        clock.advance(seconds: 4)
        monitor.notifyOfChanges()
        #expect(book.all == [.paused] && !monitor.isPermitted)
        hear()
        monitor.notifyOfChanges()
        monitor.notifyOfChanges()
        #expect(book.all == [.paused, .resumed(nanoseconds: 4_000_000_000)])
    }

    @Test("a store of one process has one node with all shards, and reports no moves")
    func alone() async throws {
        let hub = try Hub.inMemory(store: memory, clock: clock.clock)
        hub.nodeMonitor.observers.addDelegate(book)
        let nodes = try hub.nodes(memory.makeReader())
        #expect(nodes.map(\.node) == [hub.nodeMonitor.node] && nodes.map(\.shards) == [.all])
        #expect(nodes.first?.name == ProcessName.current && nodes.first?.settled == 0)
        #expect(hub.nodeMonitor.isPermitted)
        hub.nodeMonitor.notifyOfChanges()
        #expect(book.all.isEmpty)
        await offPool { hub.stop(grace: 0) }
    }
}
