import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Breaker")
struct BreakerTests {
    private let second: Int64 = 1_000_000_000
    private static let day: Int64 = 86_400_000

    /// A failure of an attempt that took no time; by default of another delivery each time.
    @discardableResult
    private func fail(
        _ breaker: inout Breaker, _ delivery: LogPosition? = nil, countsRepeats: Bool = false, at now: Int64,
        startedAt: Int64? = nil, isProbe: Bool = false, wall: Int64 = 0,
        minimumDelay: Int64 = 0, patience: Int64 = 5 * Self.day, random: Double = 1
    ) -> Breaker.Change {
        breaker.failed(
            delivery ?? LogPosition.random(in: 1...(1 << 60)), countsRepeats: countsRepeats,
            startedAt: startedAt ?? now,
            isProbe: isProbe, now: now, wall: wall, minimumDelay: minimumDelay, patience: patience,
            random: random, reserve: { $0 }
        ).change
    }

    private func opened(wall: Int64 = 0) -> Breaker {
        var breaker = Breaker()
        for time in 0...4 { fail(&breaker, at: Int64(time) * second, wall: wall) }
        return breaker
    }

    @Test("five failures in a row open it, if the first is two seconds old")
    func opens() {
        var breaker = Breaker()
        for _ in 1...19 { #expect(fail(&breaker, at: 0) == .none) }
        #expect(fail(&breaker, at: 2 * second - 1) == .none)
        #expect(fail(&breaker, at: 2 * second) == .opened)
        #expect(breaker.isOpen)
        var few = Breaker()
        for _ in 1...3 { fail(&few, at: 0) }
        #expect(fail(&few, at: 100 * second) == .none)
        #expect(fail(&few, at: 101 * second) == .opened)
    }

    @Test("repeated failures of one delivery count once, unless repeats count")
    func poison() {
        var breaker = Breaker()
        for time in 0...99 { #expect(fail(&breaker, 7, at: Int64(time) * second) == .none) }
        #expect(breaker.isOneDelivery)
        for time in 100...102 { #expect(fail(&breaker, at: Int64(time) * second) == .none) }
        #expect(fail(&breaker, at: 103 * second) == .opened)
        #expect(!breaker.isOneDelivery)
        var alone = Breaker()
        for time in 0...3 { fail(&alone, 7, countsRepeats: true, at: Int64(time) * second) }
        #expect(fail(&alone, 7, countsRepeats: true, at: 4 * second) == .opened)
        #expect(alone.isOneDelivery)
    }

    @Test("after twenty failures in a row the receiver is suspect, until a success")
    func suspect() {
        var breaker = Breaker()
        for _ in 1...19 { fail(&breaker, at: 10) }
        #expect(!breaker.isSuspect)
        fail(&breaker, at: 10)
        #expect(breaker.isSuspect)
        #expect(breaker.succeeded(startedAt: 11, now: 12) == .none)
        #expect(!breaker.isSuspect)
        #expect(breaker.isProven)
    }

    @Test("the failure of a request that started before the newest success is ignored")
    func lateFailures() {
        var breaker = Breaker()
        _ = breaker.succeeded(startedAt: 5 * second, now: 5 * second)
        for _ in 1...100 { #expect(fail(&breaker, at: 20 * second, startedAt: 5 * second) == .none) }
        #expect(breaker.isProven)
        for _ in 1...4 { fail(&breaker, at: 20 * second, startedAt: 6 * second) }
        #expect(!breaker.isProven)
        #expect(fail(&breaker, at: 20 * second, startedAt: 6 * second) == .opened)
    }

    @Test("a success ends the series only if its request started in it")
    func lateSuccesses() {
        var breaker = Breaker()
        for time in 10...13 { fail(&breaker, at: Int64(time) * second) }
        #expect(breaker.succeeded(startedAt: 9 * second, now: 14 * second) == .none)
        #expect(fail(&breaker, at: 14 * second) == .opened)
        #expect(breaker.succeeded(startedAt: 9 * second, now: 15 * second) == .none)
        #expect(breaker.isOpen)
        #expect(breaker.succeeded(startedAt: 14 * second, now: 16 * second) == .closed(after: 2 * second))
        #expect(!breaker.isOpen)
    }

    @Test("probes follow after a second, and then after twice as long up to a minute")
    func probes() throws {
        var breaker = opened()
        var now = 4 * second
        for pause: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(breaker.outage?.nextProbe == now + pause * second)
            now = try #require(breaker.outage?.nextProbe)
            breaker.probeStarted()
            #expect(breaker.outage?.isProbing == true)
            #expect(fail(&breaker, at: now, isProbe: true) == .stayedOpen)
            #expect(breaker.outage?.isProbing == false)
        }
    }

    @Test("probes are up to half of the pause early, so that those of many delegates spread")
    func jitter() {
        var breaker = Breaker()
        for time in 0...3 { fail(&breaker, at: Int64(time) * second) }
        fail(&breaker, at: 4 * second, random: 0)
        #expect(breaker.outage?.nextProbe == 4 * second + second / 2)
    }

    @Test("no probe precedes Retry-After")
    func retryAfter() {
        var breaker = opened()
        breaker.probeStarted()
        fail(&breaker, at: 5 * second, isProbe: true, minimumDelay: 100 * second)
        #expect(breaker.outage?.nextProbe == 105 * second)
    }

    @Test("attempts that were open when it opened do not move a probe")
    func openOnes() {
        var breaker = opened()
        let before = breaker
        for time in 5...20 { #expect(fail(&breaker, at: Int64(time) * second) == .stayedOpen) }
        #expect(breaker == before)
    }

    @Test(
        "a delegate that has failed for too long is disabled with its next probe, not earlier",
        arguments: [5 * Self.day, 60_000])
    func lost(patience: Int64) {
        var breaker = opened(wall: 1_000)
        let end = 4 * second + patience * 1_000_000
        // A wall clock that is set forward by a year disables nothing, and one that is set back postpones nothing.
        #expect(fail(&breaker, at: end - 1, isProbe: true, wall: 366 * Self.day, patience: patience) == .stayedOpen)
        #expect(fail(&breaker, at: end, isProbe: true, wall: 0, patience: patience) == .lost)
        // After a restart, however long the process did not run.
        for age in [patience - 1, 10 * patience] {
            var restored = Breaker(failingSince: 1_000, age: age, now: 0, nextProbe: 0)
            let lost = min(patience, 600_000) * 1_000_000
            #expect(fail(&restored, at: lost - 1, isProbe: true, patience: patience) == .stayedOpen)
            #expect(fail(&restored, at: lost, isProbe: true, patience: patience) == .lost)
        }
    }

    @Test("the end of a probe of an earlier outage lets no second probe start")
    func earlierProbe() {
        var breaker = opened()
        breaker.probeStarted()
        // An attempt from before succeeds while the probe hangs, and the receiver fails again.
        let change = breaker.succeeded(startedAt: 4 * second, now: 6 * second)
        #expect(change == .closed(after: 2 * second))
        for time in 7...11 { fail(&breaker, at: Int64(time) * second) }
        breaker.probeStarted()
        let before = breaker
        #expect(before.outage?.isProbing == true)
        #expect(fail(&breaker, at: 20 * second, startedAt: 5 * second, isProbe: true) == .stayedOpen)
        breaker.probeReturned(startedAt: 5 * second)
        #expect(breaker == before)
    }

    @Test("resuming a delegate allows a probe at once")
    func expected() {
        var breaker = opened(wall: 7)
        for time in 5...9 { fail(&breaker, at: Int64(time) * second, isProbe: true) }
        breaker.expectRecovery()
        #expect(breaker.outage?.nextProbe == 0)
        #expect(breaker.outage?.pause == Breaker.firstPause)
        #expect(breaker.outage?.since == 7)
    }

    @Test("a loop makes ten probes per second, or one for thirty open lanes; others wait a second")
    func calendar() {
        var calendar = ProbeCalendar()
        var seconds: [Int64: Int] = [:]
        for _ in 1...25 { seconds[calendar.reserve(5 * second + 7, of: .default, now: 0) / second, default: 0] += 1 }
        #expect(seconds == [5: 10, 6: 10, 7: 5])
        calendar.openLanes = 900
        for _ in 1...25 { seconds[calendar.reserve(5 * second, of: .default, now: 0) / second, default: 0] += 1 }
        #expect(seconds == [5: 30, 6: 15, 7: 5])
        // What has passed is forgotten.
        for time in 0..<10_000 { _ = calendar.reserve(Int64(time) * second, of: .default, now: Int64(time) * second) }
    }

    @Test("an app with many open lanes postpones no first probe of another one")
    func calendarOfApps() {
        let other = AppKey(rawValue: 7)
        var calendar = ProbeCalendar()
        for _ in 1...100 { _ = calendar.reserve(5 * second, of: .default, now: 0) }
        #expect(calendar.reserve(5 * second, of: other, now: 0) == 5 * second)
        #expect(calendar.reserve(5 * second, of: other, now: 0) == 6 * second)
        calendar.release(5 * second, of: other, now: 0)
        #expect(calendar.reserve(5 * second, of: other, now: 0) == 5 * second)
        // Many apps make no more than twice as many probes in a second.
        for app: Int64 in 8...16 {
            #expect(calendar.reserve(5 * second, of: AppKey(rawValue: app), now: 0) == 5 * second)
        }
        #expect(calendar.reserve(5 * second, of: AppKey(rawValue: 17), now: 0) == 6 * second)
    }

    @Test("a time that is given back is free again, unless it has passed")
    func calendarGivesBack() {
        var calendar = ProbeCalendar()
        // A lane that forgets its outage again and again takes no time from the others.
        for _ in 1...100 {
            let time = calendar.reserve(5 * second, of: .default, now: 0)
            #expect(time == 5 * second)
            calendar.release(time, of: .default, now: 0)
        }
        for _ in 1...10 { #expect(calendar.reserve(5 * second, of: .default, now: 0) == 5 * second) }
        calendar.release(5 * second, of: .default, now: 5 * second)
        calendar.release(0, of: .default, now: 0)
        #expect(calendar.reserve(5 * second, of: .default, now: 0) == 6 * second)
    }

    @Test("a probe is postponed by one minute at most")
    func calendarBound() {
        var calendar = ProbeCalendar()
        for _ in 1...600 { #expect(calendar.reserve(5 * second, of: .default, now: 0) < 65 * second) }
        for _ in 1...50 { #expect(calendar.reserve(5 * second, of: .default, now: 0) == 65 * second) }
        #expect(calendar.reserve(4 * second, of: .default, now: 0) == 4 * second)
    }
}
