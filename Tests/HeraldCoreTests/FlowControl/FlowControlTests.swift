import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Flow control of a lane")
struct FlowControlTests {
    private let second: Int64 = 1_000_000_000

    private func limits(_ maxInFlight: Int = 32, rate: Double? = nil) -> FlowControl.Limits {
        .init(maxInFlight: maxInFlight, rateLimit: rate, patience: 5 * 86_400_000)
    }

    private func succeed(_ flow: inout FlowControl, _ limits: FlowControl.Limits, at now: Int64) {
        let start = flow.started(limits, now: now)
        _ = flow.succeeded(start, limits, now: now)
    }

    @discardableResult
    private func fail(
        _ flow: inout FlowControl, _ limits: FlowControl.Limits, at now: Int64, _ outcome: CallbackOutcome = .failure
    ) -> Breaker.Change {
        let start = flow.started(limits, now: now)
        return fail(&flow, limits, start, outcome, at: now)
    }

    @discardableResult
    private func fail(
        _ flow: inout FlowControl, _ limits: FlowControl.Limits, _ start: FlowControl.Start,
        _ outcome: CallbackOutcome, at now: Int64
    ) -> Breaker.Change {
        flow.failed(
            start, .random(in: 1...(1 << 60)), isAlone: false, outcome, limits, now: now, wall: 0, random: 1,
            reserve: { $0 })
    }

    // MARK: What an outcome means

    static let meanings: [(CallbackOutcome, OutcomeMeaning)] = [
        (.answered(200), .success), (.answered(299), .success), (.answered(429), .rejection),
        (.answered(503), .rejection), (.answered(301), .failure), (.answered(400), .failure),
        (.answered(410), .failure), (.answered(500), .failure), (.answered(502), .failure),
        (.answered(504), .failure), (.failed(.timeout), .hang), (.failed(.connect), .unreachable),
        (.failed(.nameResolution), .unreachable), (.failed(.addressBlocked), .unreachable),
        (.failed(.tls), .unreachable),
        (.failed(.protocolError), .failure),
    ]

    @Test("each outcome has one meaning", arguments: meanings)
    func meaning(outcome: CallbackOutcome, meaning: OutcomeMeaning) { #expect(outcome.meaning == meaning) }

    // MARK: Spacing

    @Test("starts keep the delegate's rate limit, and pauses are not made up for")
    func spacing() {
        var flow = FlowControl()
        let limits = limits(rate: 2)
        #expect(flow.mayStart(open: 0, limits, now: 0))
        for (now, next) in [(0, second / 2), (second / 2, second), (100 * second, 100 * second + second / 2)] {
            _ = flow.started(limits, now: now)
            #expect(!flow.mayStart(open: 0, limits, now: next - 1))
            #expect(flow.startTime(open: 0, limits, now: now) == next)
            #expect(flow.mayStart(open: 0, limits, now: next))
        }
    }

    @Test("without a limit starts are not spaced")
    func unlimited() {
        var flow = FlowControl()
        for _ in 1...1_000 { _ = flow.started(limits(), now: 5) }
        #expect(flow.mayStart(open: 0, limits(), now: 5))
    }

    @Test("a rate of thousands is kept by a loop that wakes every few milliseconds", arguments: [200.0, 5_000, 10_000])
    func fast(rate: Double) {
        var flow = FlowControl()
        let limits = limits(rate: rate)
        var starts = 0
        for now in stride(from: Int64(0), to: 10 * second, by: 5_000_000) {
            while flow.mayStart(open: 0, limits, now: now) {
                _ = flow.started(limits, now: now)
                starts += 1
            }
        }
        #expect(abs(Double(starts) - 10 * rate) < 0.02 * 10 * rate)
    }

    @Test(
        "an invalid rate limit stops nothing and crashes nothing",
        arguments: [0, -1, 1e-300, .nan, .infinity])
    func nonsense(rate: Double) {
        var flow = FlowControl()
        let limits = limits(rate: rate)
        _ = flow.started(limits, now: 0)
        _ = flow.mayStart(open: 0, limits, now: .max / 4)
    }

    // MARK: Concurrency

    @Test("an unknown receiver gets one request; each success doubles that up to the delegate's limit")
    func concurrency() {
        var flow = FlowControl()
        let limits = limits(20)
        for expected in [1, 2, 4, 8, 16, 20, 20] {
            #expect(flow.mayStart(open: expected - 1, limits, now: 0))
            #expect(!flow.mayStart(open: expected, limits, now: 0))
            succeed(&flow, limits, at: 0)
        }
        // A failure now and then says nothing about it.
        fail(&flow, limits, at: 1)
        #expect(flow.mayStart(open: 19, limits, now: 1))
    }

    @Test("a receiver that only hangs gets one request at a time; a share of hanging requests changes nothing")
    func hangs() {
        var flow = FlowControl()
        for now: Int64 in 0...9 { succeed(&flow, limits(), at: now) }
        let timeout = CallbackOutcome.failed(.timeout)
        let old = flow.started(limits(), now: 5)
        let new = (0..<5).map { flow.started(limits(), now: 100 + $0) }
        fail(&flow, limits(), old, timeout, at: 200)
        for start in new.dropLast() { fail(&flow, limits(), start, timeout, at: 200) }
        #expect(flow.mayStart(open: 31, limits(), now: 200))
        fail(&flow, limits(), new[4], timeout, at: 200)
        #expect(!flow.mayStart(open: 1, limits(), now: 200))
    }

    @Test("requests that hang leave their room to others while the receiver responds to these")
    func passesOver() {
        var flow = FlowControl()
        let limits = limits(4)
        for now: Int64 in 0...9 { succeed(&flow, limits, at: now) }
        flow.held = 4
        #expect(!flow.mayStart(open: 4, limits, now: 9))
        #expect(flow.startTime(open: 4, limits, now: 9) != nil)
        flow.late = 3
        #expect(flow.mayStart(open: 4, limits, now: 9))
        #expect(flow.mayStart(open: 6, limits, now: 9))
        #expect(!flow.mayStart(open: 7, limits, now: 9))
        flow.late = 100
        #expect(!flow.mayStart(open: 16, limits, now: 9))
        // Without a response to a newer request, nothing shows that only these hang.
        #expect(!flow.mayStart(open: 4, limits, now: 10 + second))
        #expect(flow.startTime(open: 4, limits, now: 10 + second) == nil)
        // One at a time is one at a time.
        #expect(!flow.mayStart(open: 1, self.limits(1), now: 9))
    }

    @Test("ten rejections in a row with Retry-After are a pause, and five pauses without a success are failures")
    func requestedPause() {
        var flow = FlowControl()
        let outcome = CallbackOutcome.answered(429, retryAfter: 10)
        succeed(&flow, limits(), at: 0)
        for now: Int64 in 1...9 { fail(&flow, limits(), at: now, outcome) }
        #expect(flow.mayStart(open: 0, limits(), now: 10))
        fail(&flow, limits(), at: 10, outcome)
        #expect(flow.startTime(open: 0, limits(), now: 11) == 10 + 10 * second)
        let status = flow.status(
            open: 0, limits(), hasWork: true, isParked: false, now: 11, wallOffset: 0)
        #expect(status.limitedBy == .throttled && status.circuit == .closed)
        // After a pause one request is open, and its rejection begins the next pause.
        var now = 10 + 10 * second
        for _ in 2...5 {
            #expect(!flow.mayStart(open: 1, limits(), now: now))
            fail(&flow, limits(), at: now, outcome)
            now += 10 * second
        }
        var change = Breaker.Change.none
        for _ in 1...5 {
            change = fail(&flow, limits(), at: now, outcome)
            now += second
        }
        #expect(change == .opened)
    }

    @Test("a receiver that requests more than five minutes is not available", arguments: [(300, false), (301, true)])
    func longestPause(seconds: Int, isOutage: Bool) {
        var flow = FlowControl()
        for time in 0...4 { fail(&flow, limits(), at: Int64(time) * second, .answered(429, retryAfter: seconds)) }
        #expect(flow.breaker.isOpen == isOutage)
    }

    @Test("a success ends a row of rejections, and one that began after a pause ends the row of pauses")
    func pausesEnd() {
        var flow = FlowControl()
        var now: Int64 = 1
        func reject(_ count: Int) {
            for _ in 0..<count {
                fail(&flow, limits(), at: now, .answered(429, retryAfter: 10))
                now += 1
            }
        }
        reject(9)
        for _ in 1...2 {
            succeed(&flow, limits(), at: now)
            now += 1
            reject(9)
            #expect(flow.mayStart(open: 0, limits(), now: now))
            reject(1)
            #expect(!flow.mayStart(open: 0, limits(), now: now))
            now += 10 * second
        }
        succeed(&flow, limits(), at: now)
        let late = flow.started(limits(), now: now)
        now += 1
        reject(10)
        _ = flow.succeeded(late, limits(), now: now)
        now += 10 * second
        #expect(flow.mayStart(open: 0, limits(), now: now))
        reject(1)
        #expect(!flow.mayStart(open: 0, limits(), now: now), "the pause before it was too short")
    }

    @Test("a suspect receiver gets one request at a time, ten a second")
    func suspect() {
        var flow = FlowControl()
        for _ in 1...20 { fail(&flow, limits(), at: 7) }
        #expect(!flow.mayStart(open: 0, limits(), now: 7 + second / 10 - 1))
        #expect(flow.mayStart(open: 0, limits(), now: 7 + second / 10))
        #expect(!flow.mayStart(open: 1, limits(), now: 7 + second / 10))
    }

    @Test("while the circuit is open there is one probe at a time, and older requests do not delay it")
    func probes() {
        var flow = FlowControl()
        for time in 0...4 { fail(&flow, limits(), at: Int64(time) * second) }
        #expect(flow.breaker.isOpen)
        #expect(!flow.mayStart(open: 10, limits(), now: 5 * second - 1))
        #expect(flow.mayStart(open: 10, limits(), now: 5 * second))
        #expect(!flow.mayStart(open: 32, limits(), now: 5 * second))
        let probe = flow.started(limits(), now: 5 * second)
        #expect(probe.isProbe)
        #expect(!flow.mayStart(open: 11, limits(), now: 50 * second))
        // A probe that was never sent makes room for another one.
        flow.returned(probe)
        #expect(flow.mayStart(open: 10, limits(), now: 50 * second))
        let another = flow.started(limits(), now: 50 * second)
        #expect(flow.succeeded(another, limits(), now: 51 * second) == .closed(after: 47 * second))
        #expect(flow.mayStart(open: 0, limits(), now: 51 * second))
    }

    // MARK: What people see

    @Test("each limit of a lane has a name")
    func reasons() {
        func status(
            _ flow: FlowControl, open: Int = 0, _ limits: FlowControl.Limits, isParked: Bool = false, now: Int64
        )
            -> FlowStatus
        { flow.status(open: open, limits, hasWork: true, isParked: isParked, now: now, wallOffset: 1_000) }
        var flow = FlowControl()
        #expect(status(flow, limits(), now: 0).limitedBy == nil)
        #expect(status(flow, open: 1, limits(), now: 0).limitedBy == .concurrency)
        #expect(status(flow, limits(), isParked: true, now: 0).limitedBy == .slots)
        _ = flow.started(limits(rate: 1), now: 0)
        #expect(status(flow, limits(rate: 1), now: 1).limitedBy == .rateLimit)
        flow = FlowControl()
        flow.wait(until: second)
        #expect(!flow.mayStart(open: 0, limits(), now: 0) && status(flow, limits(), now: 0).limitedBy == nil)
        flow = FlowControl()
        for _ in 1...20 { fail(&flow, limits(), at: 0) }
        #expect(status(flow, limits(), now: 0).limitedBy == .throttled)
        #expect(status(flow, limits(), now: 0).circuit == .suspect)
        fail(&flow, limits(), at: 2 * second)
        let open = status(flow, limits(), now: 2 * second)
        #expect(open.limitedBy == .circuitOpen && open.circuit == .open)
        #expect(open.nextProbeAt == 4_000)
        #expect(flow.status(open: 0, limits(), hasWork: false, isParked: false, now: 0, wallOffset: 0).limitedBy == nil)
    }
}
