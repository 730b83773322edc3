import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The rate of an origin")
struct OriginRateTests {
    private let second: Int64 = 1_000_000_000

    @Test(
        "an origin is the scheme, host and port of a URL",
        arguments: [
            ("https://Example.com/a", "https://example.com"), ("HTTPS://example.com:443?x", "https://example.com"),
            ("http://example.com:80", "http://example.com"), ("http://example.com:443/", "http://example.com:443"),
            ("https://user:p@ss@example.com/@/b", "https://example.com"), ("http://[::1]:80/", "http://[::1]"),
            ("nonsense", "nonsense"), ("", ""), ("://", "://"),
        ])
    func origin(url: String, origin: String) { #expect(OriginRates.origin(of: url) == origin) }

    @Test("an origin lasts as long as a lane has it, and each app has its own")
    func membership() {
        let rates = OriginRates()
        let first = rates.join(WebhookDelegate(1, url: "https://a.example/1"))
        let second = rates.join(WebhookDelegate(2, url: "https://a.example/2"))
        let other = rates.join(WebhookDelegate(3, url: "https://a.example/3", app: AppKey(rawValue: 9)))
        #expect(first === second && first !== other)
        #expect(rates.count == 2)
        rates.leave(first)
        rates.leave(other)
        #expect(rates.count == 1)
        rates.leave(second)
        #expect(rates.count == 0)
    }

    @Test("lanes that share an origin share the rate that it accepts; a lane alone has no common rate")
    func shares() throws {
        let rates = OriginRates()
        let origin = rates.join(WebhookDelegate(1, url: "https://a.example/1"))
        #expect(origin.started(now: 0) == nil)
        _ = rates.join(WebhookDelegate(2, url: "https://a.example/2"))
        for number in 0..<Int64(2) {
            for index in 0..<Int64(200) {
                let now = number * second + index * second / 200
                let window = try #require(origin.started(now: now))
                origin.answered(isRejection: index % 4 != 0, window: window, now: now + second / 200)
            }
        }
        #expect(origin.isLimited)
        #expect((45...56).contains(origin.limit))
        // The turns of a second.
        var turns = 0
        var now = 10 * second
        while now < 11 * second {
            if let next = origin.takeTurn(now: now) { now = next } else { turns += 1 }
        }
        #expect(abs(Double(turns) - origin.limit) <= 2)
        rates.leave(origin)
        #expect(!origin.isLimited)
    }

    @Test("a lane that moves to another URL, or is removed, no longer waits at its origin")
    func leaves() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...3 { bench.set(WebhookDelegate(key)) }
        let origin = try #require(bench.engine.lane(1)?.origin)
        for _ in 1...40 {
            bench.publishAndTurn(20)
            while let request = bench.open.first {
                bench.finish(request.delegate, event: request.event, with: .answered(429))
            }
            bench.clock.advance(nanoseconds: second / 10)
            bench.turn()
        }
        #expect(origin.isLimited || bench.engine.lane(1)?.isFailing == true)
        bench.set(WebhookDelegate(1, url: "https://elsewhere.example", version: 2))
        let lane = try #require(bench.engine.lane(1))
        #expect(lane.origin !== origin && !lane.waitsForTurn && !lane.hasTurn)
        bench.engine.receive(.remove(2))
        bench.clock.advance(nanoseconds: 100 * second)
        bench.turn()
        #expect(bench.engine.lane(2) == nil)
    }
}
