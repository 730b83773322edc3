import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Rate control")
struct RateControlTests {
    private let second: Int64 = 1_000_000_000

    /// A second in which so many attempts start and end.
    private func pass(_ rate: inout RateControl, second number: Int, accepted: Int, rejected: Int) {
        let start = Int64(number) * second
        let total = accepted + rejected
        for index in 0..<total {
            let window = rate.started(now: start + Int64(index) * second / Int64(total))
            // Rejections are spread evenly. The last answer comes when the second is over.
            let isRejection = (index + 1) * rejected / total > index * rejected / total
            let now = start + Int64(index + 1) * second / Int64(total)
            _ = rate.answered(isRejection: isRejection, window: window, now: now)
        }
    }

    @Test("without rejections there is no limit")
    func free() {
        var rate = RateControl()
        for number in 0..<100 { pass(&rate, second: number, accepted: 1_000, rejected: 0) }
        #expect(rate.limit.isInfinite)
        #expect(rate.interval == 0)
    }

    @Test("one bad second is a burst; the second one cuts the rate to what was accepted")
    func cut() {
        var rate = RateControl()
        pass(&rate, second: 0, accepted: 50, rejected: 150)
        #expect(rate.limit.isInfinite)
        pass(&rate, second: 1, accepted: 50, rejected: 150)
        #expect((45...56).contains(rate.limit), "\(rate.limit)")
    }

    @Test("a cut that helps stays, and the rate grows by a twentieth")
    func pays() {
        var rate = RateControl()
        for number in 0...1 { pass(&rate, second: number, accepted: 50, rejected: 150) }
        let cut = rate.limit
        for number in 2...5 { pass(&rate, second: number, accepted: 52, rejected: 0) }
        #expect(rate.tolerated == 0)
        #expect(rate.limit > cut && rate.limit < 1.5 * cut)
    }

    @Test("a cut that does not help is undone, and that share of rejections is tolerated for a minute")
    func doesNotPay() {
        var rate = RateControl()
        for number in 0...1 { pass(&rate, second: number, accepted: 140, rejected: 60) }
        #expect(rate.limit < 150)
        for number in 2...2 { pass(&rate, second: number, accepted: 98, rejected: 42) }
        #expect(rate.limit.isInfinite)
        #expect((0.25...0.35).contains(rate.tolerated))
        for number in 3...60 { pass(&rate, second: number, accepted: 140, rejected: 60) }
        #expect(rate.limit.isInfinite)
        // Then it is tried again: the receiver may have changed.
        var wasCut = false
        for number in 61...75 {
            pass(&rate, second: number, accepted: 140, rejected: 60)
            wasCut = wasCut || rate.limit.isFinite
        }
        #expect(wasCut)
    }

    @Test("requests started under an earlier limit do not count against the current one")
    func attribution() {
        var rate = RateControl()
        let old = rate.started(now: 0)
        for number in 0...1 { pass(&rate, second: number, accepted: 50, rejected: 150) }
        let limit = rate.limit
        for _ in 1...1_000 { _ = rate.answered(isRejection: true, window: old, now: 4 * second) }
        #expect(rate.limit == limit)
    }

    @Test(
        "after an outage it starts at ten per second and doubles; after a short one at a quarter of the previous rate")
    func recovered() {
        var rate = RateControl()
        for number in 0...5 { pass(&rate, second: number, accepted: 400, rejected: 0) }
        var short = rate
        rate.recovered(after: 600 * second, now: 700 * second)
        #expect(rate.limit == 10)
        for (number, expected) in [(700, 10), (701, 20), (702, 40), (703, 80)] {
            #expect(rate.limit >= Double(expected))
            pass(&rate, second: number, accepted: expected + 1, rejected: 0)
        }
        short.recovered(after: 10 * second, now: 20 * second)
        #expect((90...101).contains(short.limit))
    }

    @Test("few responses over a long time do not cause a cut")
    func slow() {
        var rate = RateControl()
        for number in 0..<20 { pass(&rate, second: 100 * number, accepted: 3, rejected: 1) }
        #expect(rate.limit.isInfinite)
    }
}
