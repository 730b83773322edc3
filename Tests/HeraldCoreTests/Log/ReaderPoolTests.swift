import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The threads that read the store", .timeLimit(.minutes(20)))
struct ReaderPoolTests {
    /// A pool whose only thread runs a job of an app, until it is released.
    private struct HeldPool {
        let pool: ReaderPool
        private let gate: Semaphore

        init(app: AppKey?) throws {
            let begun = Semaphore()
            let gate = Semaphore()
            pool = try ReaderPool(store: MemoryStore(), threads: 1)
            self.gate = gate
            let isTaken = pool.submit(app: app) { _ in
                begun.signal()
                gate.wait()
            }
            #expect(isTaken)
            begun.wait()
        }

        /// Runs the jobs that wait, and ends the thread.
        func release() async {
            gate.signal()
            await offPool { [pool] in pool.stop() }
        }
    }

    private static let many = AppKey(rawValue: 2)
    private static let few = AppKey(rawValue: 3)

    @Test("an app with many reads that wait delays another one, and the server, by one of them")
    func turns() async throws {
        let held = try HeldPool(app: Self.many)
        let order = Recorder<String>()
        func submit(_ app: AppKey?, _ name: String) {
            #expect(held.pool.submit(app: app) { _ in order.record(name) })
        }
        for number in 1...20 { submit(Self.many, "many \(number)") }
        for number in 1...2 { submit(Self.few, "few \(number)") }
        for number in 1...2 { submit(nil, "server \(number)") }
        #expect(held.pool.waiting == 24)
        await held.release()
        let expected = ["many 1", "few 1", "server 1", "many 2", "few 2", "server 2"] + (3...20).map { "many \($0)" }
        #expect(order.items == expected)
        #expect(held.pool.waiting == 0)
    }

    @Test("an app has at most as many reads as can still be added, and the server may fill the queue")
    func room() async throws {
        let held = try HeldPool(app: Self.many)
        let ran = Counter()
        /// Submits until a read is refused.
        func fill(_ app: AppKey?) -> Int {
            var count = 0
            while held.pool.submit(app: app, { _ in ran.next() }) { count += 1 }
            return count
        }
        #expect(fill(Self.many) == ReaderPool.maxWaiting / 2)
        #expect(fill(Self.few) == ReaderPool.maxWaiting / 4)
        #expect(fill(AppKey(rawValue: 4)) == ReaderPool.maxWaiting / 8)
        #expect(fill(Self.many) == 0)
        #expect(fill(nil) == ReaderPool.maxWaiting / 8)
        #expect(held.pool.waiting == ReaderPool.maxWaiting && fill(Self.few) == 0)
        await held.release()
        #expect(ran.value == ReaderPool.maxWaiting)
        #expect(fill(Self.many) == 0, "the pool has stopped")
    }
}
