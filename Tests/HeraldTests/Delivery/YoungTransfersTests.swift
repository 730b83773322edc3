import Testing

@testable import Herald

@Suite("Young transfers")
struct YoungTransfersTests {
    @Test("a start counts until it ends, or the loop has slept for two milliseconds since")
    func counts() {
        var young = YoungTransfers()
        young.start(0, now: 0)
        young.start(1, now: 200_000)
        #expect(young.count == 2)
        #expect(young.nextOld == 2_000_000)
        young.end(0)
        #expect(young.count == 1)
        young.grow(now: 2_199_999)
        #expect(young.count == 1)
        #expect(young.nextOld == 2_200_000)
        young.grow(now: 2_200_000)
        #expect(young.count == 0)
        #expect(young.nextOld == nil)
        // It grew old before: its end changes nothing.
        young.end(1)
        #expect(young.count == 0)
    }

    @Test("a token that is used again is another attempt")
    func reuse() {
        var young = YoungTransfers()
        young.start(0, now: 0)
        young.end(0)
        young.start(0, now: 600_000)
        young.grow(now: 2_000_000)
        #expect(young.count == 1)
        young.grow(now: 2_600_000)
        #expect(young.count == 0)
    }

    @Test("many starts and ends leave nothing behind")
    func bounded() {
        var young = YoungTransfers()
        for round in 0..<10_000 {
            young.start(round % 3, now: Int64(round))
            young.end(round % 3)
            young.grow(now: Int64(round))
        }
        #expect(young.count == 0)
        #expect(young.nextOld == nil)
    }

    @Test("no more start at once than keep the loop busy; the rest follow as others end or grow old")
    func engine() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...4 { bench.engine.set(WebhookDelegate(key) { $0.maxInFlight = 256 }) }
        // Each success doubles a lane's window.
        for _ in 1...8 {
            bench.publish(64)
            bench.deliverAll()
        }
        bench.publish(100)
        bench.turn()
        #expect(bench.open.count == YoungTransfers.limit)
        bench.clock.advance(nanoseconds: YoungTransfers.age)
        bench.turn()
        #expect(bench.open.count == 2 * YoungTransfers.limit)
        bench.deliverAll()
        #expect(bench.engine.openTransfers == 0)
    }
}
