import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite struct FairSchedulerTests {
    private static let other = AppKey(rawValue: 2)

    @Test("the app with the fewest open requests is next, and within it the lanes take turns")
    func turns() {
        let apps = FairScheduler()
        let (one, two) = (apps.join(.default), apps.join(Self.other))
        for lane in [1, 2, 3] {
            if lane > 1 { #expect(apps.join(.default) == one) }
            apps.append(lane, one, isProven: true)
            apps.append(lane, one, isProven: true)
        }
        apps.append(9, two, isProven: true)
        #expect(apps.count == 4)
        apps.began(two)
        #expect(apps.next() == 1)
        apps.began(one)
        // As many are open: who was served last comes later.
        #expect(apps.next() == 9)
        #expect(apps.next() == 2)
        apps.leave(3, one)
        #expect(apps.isEmpty && apps.next() == nil)
    }

    @Test("lanes with working receivers get three of four turns while others wait for retries")
    func proven() {
        let apps = FairScheduler()
        let app = apps.join(.default)
        for lane in 0..<6 {
            apps.append(lane, app, isProven: true)
            apps.append(10 + lane, app, isProven: false)
        }
        #expect((0..<8).map { _ in apps.next() } == [0, 1, 2, 10, 3, 4, 5, 11])
        // One that has come to work is served once, by its new place.
        apps.append(12, app, isProven: true)
        #expect(apps.count == 4)
        #expect((0..<5).map { _ in apps.next() } == [12, 13, 14, 15, nil])
        #expect(apps.isEmpty)
    }

    @Test("a turn considers the apps with queued lanes only")
    func queuedApps() {
        let apps = FairScheduler()
        let places = (1...1_000).map { apps.join(AppKey(rawValue: $0)) }
        #expect(apps.queued.isEmpty)
        apps.append(1, places[700], isProven: false)
        apps.append(2, places[700], isProven: true)
        apps.append(3, places[300], isProven: false)
        #expect(apps.queued == [places[700], places[300]])
        apps.began(places[300])
        #expect(apps.mayOvertake(places[5]) && !apps.mayOvertake(places[300]))
        #expect(apps.next() == 2 && apps.next(.proven) == nil && apps.next() == 1)
        #expect(apps.queued == [places[300]])
        apps.leave(3, places[300])
        #expect(apps.queued.isEmpty && apps.isEmpty)
    }

    @Test("an app has at most three times as many requests as slots stay free, unless it is the only one")
    func slots() {
        let apps = FairScheduler()
        let one = apps.join(.default)
        apps.append(1, one, isProven: true)
        for _ in 0..<6 { apps.began(one) }
        #expect(apps.mayOpen(one, free: 1))
        let two = apps.join(Self.other)
        // Its seventh request would leave two slots free, or three.
        #expect(!apps.mayOpen(one, free: 3) && apps.mayOpen(one, free: 4))
        #expect(apps.mayOpen(two, free: 1))
        #expect(apps.next(free: 3) == nil)
        apps.append(2, two, isProven: true)
        #expect(apps.next(free: 3) == 2)
        #expect(apps.next(free: 4) == 1)
    }

    @Test("an app's entry is removed when it has no lanes and no requests")
    func places() {
        let apps = FairScheduler()
        let place = apps.join(.default)
        apps.began(place)
        apps.leave(1, place)
        let other = apps.join(Self.other)
        #expect(other != place)
        #expect(apps.join(.default) == place)
        apps.leave(2, place)
        apps.ended(place)
        #expect(apps.join(AppKey(rawValue: 3)) == place)
    }

    @Test("a lane whose app has its share of the slots is limited by slots")
    func limited() throws {
        let bench = try EngineBench(capacity: 8)
        for key: DelegateKey in 1...7 { bench.set(WebhookDelegate(key)) }
        bench.set(WebhookDelegate(20, app: Self.other))
        bench.publishAndTurn()
        let waiting = (DelegateKey(1)...7).filter { bench.open($0).isEmpty }
        #expect(waiting.count == 1)
        let checkpoint = bench.checkpoint()
        #expect(checkpoint != nil)
        #expect(waiting.allSatisfy { bench.engine.board.entry($0)?.flow.limitedBy == .slots })
    }

    @Test("an app with a hundred receivers that do not respond leaves slots for an app with one receiver")
    func fairShare() throws {
        let bench = try EngineBench(capacity: 40)
        for key: DelegateKey in 1...100 { bench.set(WebhookDelegate(key)) }
        bench.set(WebhookDelegate(200, app: Self.other) { $0.maxInFlight = 256 })
        // All receivers have responded before: no slot is held yet.
        bench.publishAndTurn(100)
        #expect(bench.open.count == 30)

        // Seventy lanes of the first app stand in line before it.
        bench.publishAndTurn(100, app: Self.other)
        #expect(bench.open(200).count == 7)
        let first = try #require(bench.open.first)
        bench.finishAndTurn(first.delegate, event: first.event)
        #expect(bench.open(200).count == 8)

        // Whatever ends next, the other app catches up to its half, and no further.
        for _ in 0..<60 {
            let end = try #require(bench.open.first { $0.delegate != 200 } ?? bench.open.first)
            bench.finishAndTurn(end.delegate, event: end.event)
        }
        #expect((30..<40).contains(bench.open.count))
        #expect((10...20).contains(bench.open(200).count))
        while bench.finish(200) > 0 { bench.turn() }
        #expect(bench.delivered >= 100)
    }
}
