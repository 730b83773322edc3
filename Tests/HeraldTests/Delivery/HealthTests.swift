import Testing

@testable import Herald

@Suite("Health and pace of a lane")
struct HealthTests {
    private let second: Int64 = 1_000_000_000
    private let day: Int64 = 86_400_000

    // MARK: Health

    @Test("a delegate that has failed for five days is lost with its next probe, not with an earlier one")
    func lost() {
        var health = LaneHealth.working(failures: 0)
        for _ in 1...4 { #expect(health.fail(now: 0, wall: 1_000, rest: 0) == .none) }
        #expect(health.fail(now: 0, wall: 1_000, rest: 0) == .stopped)
        #expect(health.isFailing)
        #expect(health.fail(now: 5 * second, wall: 1_000 + 5 * day - 1, rest: 0) == .stillStopped)
        #expect(health.fail(now: 15 * second, wall: 1_000 + 5 * day, rest: 0) == .lost)
    }

    @Test("a receiver that needs rest is not probed before that is over")
    func rest() {
        var health = LaneHealth.working(failures: 4)
        _ = health.fail(now: 0, wall: 0, rest: 60 * second)
        #expect(health == .failing(since: 0, probeAt: 60 * second, pause: 5 * second))
        _ = health.fail(now: 60 * second, wall: 0, rest: 60 * second)
        #expect(health == .failing(since: 0, probeAt: 120 * second, pause: 10 * second))
    }

    @Test("who is mended is probed at once; who is new has no history")
    func mended() {
        var health = LaneHealth.failing(since: 7, probeAt: 100 * second, pause: 80 * second)
        health.mend(isNew: false)
        #expect(health == .failing(since: 7, probeAt: 0, pause: 5 * second))
        health.mend(isNew: true)
        #expect(health == .working(failures: 0))
        health = .working(failures: 3)
        health.mend(isNew: false)
        #expect(health == .working(failures: 0))
    }

    // MARK: Pace

    @Test("starts keep their distance, and a pause is not made up for")
    func spacing() {
        var pace = Pace()
        #expect(pace.earliestStart(2) <= 0)
        pace.started(now: 0, 2)
        #expect(pace.earliestStart(2) == second / 2)
        pace.started(now: second / 2, 2)
        #expect(pace.earliestStart(2) == second)
        pace.started(now: 100 * second, 2)
        #expect(pace.earliestStart(2) == 100 * second + second / 2)
    }

    @Test("without a limit nothing is spaced")
    func unlimited() {
        var pace = Pace()
        for _ in 1...1_000 { pace.started(now: 5, nil) }
        #expect(pace.earliestStart(nil) <= 0)
    }

    @Test("a rate of thousands is kept by a loop that wakes every few milliseconds", arguments: [200.0, 5_000, 10_000])
    func fast(rate: Double) {
        var pace = Pace()
        var starts = 0
        for now in stride(from: Int64(0), to: 10 * second, by: 5_000_000) {
            while pace.earliestStart(rate) <= now {
                pace.started(now: now, rate)
                starts += 1
            }
        }
        #expect(abs(Double(starts) - 10 * rate) < 0.02 * 10 * rate)
    }

    @Test("complaints double the interval up to a minute, successes take it back")
    func complaints() {
        var pace = Pace()
        pace.slowDown(retryAfter: nil, now: 0)
        #expect(pace.interval == Pace.firstInterval)
        #expect(pace.earliestStart(nil) == Pace.firstInterval)
        for _ in 1...20 { pace.slowDown(retryAfter: nil, now: 0) }
        #expect(pace.interval == Pace.longestInterval)
        var successes = 0
        while pace.interval > 0 && successes < 1_000 {
            pace.succeeded()
            successes += 1
        }
        #expect(pace.interval == 0 && successes < 100)
    }

    @Test("Retry-After holds, also when a later one is shorter")
    func retryAfter() {
        var pace = Pace()
        pace.slowDown(retryAfter: 100, now: 0)
        pace.slowDown(retryAfter: 1, now: second)
        #expect(pace.earliestStart(nil) == 100 * second)
    }

    // MARK: Retry schedule

    @Test("timeouts and gateways without an answer rest a minute; what is later anyway stays")
    func retryRest() {
        let timeout = CallbackOutcome(verdict: .failed(.timeout, detail: ""), duration: 0)
        let connect = CallbackOutcome(verdict: .failed(.connect, detail: ""), duration: 0)
        for outcome in [timeout, .answered(502), .answered(504)] {
            #expect(RetrySchedule.delay([5, 300], attempts: 1, after: outcome, random: 0.5) == 60)
            #expect(RetrySchedule.delay([5, 300], attempts: 2, after: outcome, random: 0.5) == 300)
        }
        for outcome in [connect, .answered(500), .answered(400), .answered(413), .answered(301)] {
            #expect(RetrySchedule.delay([5, 300], attempts: 1, after: outcome, random: 0.5) == 5)
        }
    }
}
