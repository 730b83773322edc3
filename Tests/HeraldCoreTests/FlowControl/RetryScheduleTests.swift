import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Retry schedule")
struct RetryScheduleTests {
    private func delay(_ schedule: [Double], attempts: Int, after outcome: CallbackOutcome, random: Double) -> Double? {
        switch RetrySchedule.next(schedule, attempts: attempts, excused: 0, after: outcome, random: random) {
        case .retry(let delay), .excused(let delay): delay
        case .exhausted: nil
        }
    }

    @Test("a delay lies within 20 % of the schedule", arguments: [0, 0.25, 0.5, 0.999_999])
    func jitter(random: Double) throws {
        for attempts in 1...3 {
            let planned = [5.0, 300, 1800][attempts - 1]
            let delay = try #require(
                self.delay([5, 300, 1800], attempts: attempts, after: .failure, random: random))
            #expect(delay >= planned * 0.8 && delay <= planned * 1.2)
        }
    }

    @Test("when the schedule is used up there is no delay")
    func exhausted() {
        #expect(delay([5], attempts: 2, after: .failure, random: 0) == nil)
        #expect(delay([], attempts: 1, after: .failure, random: 0) == nil)
        #expect(delay([5], attempts: 2, after: .answered(500, retryAfter: 9), random: 0) == nil)
    }

    @Test("Retry-After of any failure is obeyed when it is later than the schedule")
    func retryAfter() {
        #expect(delay([5], attempts: 1, after: .answered(429, retryAfter: 60), random: 0.5) == 60)
        #expect(delay([5], attempts: 1, after: .answered(503, retryAfter: 60), random: 0.5) == 60)
        #expect(delay([5], attempts: 1, after: .answered(503, retryAfter: 1), random: 0.5) == 5)
        #expect(delay([5], attempts: 1, after: .answered(500, retryAfter: 60), random: 0.5) == 60)
        #expect(delay([5], attempts: 1, after: .answered(500, retryAfter: 1), random: 0.5) == 5)
        #expect(delay([5], attempts: 1, after: .answered(504, retryAfter: 1), random: 0.5) == 60)
        #expect(delay([5], attempts: 2, after: .answered(500, retryAfter: 60), random: 0.5) == nil)
    }

    @Test("retries after timeouts and gateway errors wait a minute at least")
    func rest() {
        func next(_ attempts: Int, _ outcome: CallbackOutcome) -> RetrySchedule.Next {
            RetrySchedule.next([5, 300], attempts: attempts, excused: 0, after: outcome, random: 0.5)
        }
        for outcome in [CallbackOutcome.failed(.timeout), .answered(502), .answered(504)] {
            #expect(next(1, outcome) == .retry(after: 60))
            #expect(next(2, outcome) == .retry(after: 300))
        }
        for outcome in [
            CallbackOutcome.failed(.connect), .answered(500), .answered(400), .answered(413), .answered(301),
        ] {
            #expect(next(1, outcome) == .retry(after: 5))
        }
        #expect(next(3, .answered(500)) == .exhausted)
    }

    @Test("a rejection that names a time uses up no retry, twenty times")
    func excused() {
        func next(_ schedule: [Double], excused: Int, _ seconds: Int) -> RetrySchedule.Next {
            RetrySchedule.next(
                schedule, attempts: 2, excused: excused, after: .answered(429, retryAfter: seconds), random: 0.5)
        }
        #expect(next([5, 300], excused: 0, 1) == .excused(after: 5))
        #expect(next([5, 300], excused: 19, 77) == .excused(after: 77))
        #expect(next([5, 300], excused: 20, 77) == .retry(after: 300))
        #expect(next([5, 300], excused: 20, 400) == .retry(after: 400))
        #expect(next([], excused: 0, 1) == .exhausted)
    }
}
