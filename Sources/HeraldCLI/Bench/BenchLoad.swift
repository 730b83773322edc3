import Glibc
import HeraldHTTP
import HeraldRuntime
import Synchronization

/// Posts events over several connections, each on a thread of its own, until the time is up.
///
/// With a rate, each event has a due time and is measured from it. So delays of a slow server count, and its load is
/// not reduced.
final class BenchLoad: Sendable {
    struct Plan: Sendable {
        let connections: Int
        /// Events per second; `nil` if each connection posts after the previous response.
        let rate: Double?
        let seconds: Int
        let event: BenchEvent
    }

    struct Result: Sendable {
        var accepted = BenchHistogram()
        /// The number of refused events, by status or error.
        var errors: [String: Int] = [:]
        /// Due, but not sent before the end.
        var unsent = 0
        var seconds = 0.0
    }

    private let plan: Plan
    private let call: Invocation
    /// Nanoseconds of the monotonic clock.
    let startedAt: Int64
    private let endsAt: Int64
    private let wakeup: Wakeup
    private let due = Atomic(0)
    private let acceptedCount = Atomic(0)
    private let stopped = Atomic(false)
    private let running: Atomic<Int>
    /// When it was stopped, or `endsAt`.
    private let stoppedAt: Atomic<Int64>
    private let result = Mutex(Result())

    private static let requestSeconds = 30
    /// The pause of a connection after a refusal, in nanoseconds.
    private static let rest: Int64 = 100_000_000

    /// Starts at once.
    init(_ plan: Plan, _ call: Invocation) throws(CommandError) {
        self.plan = plan
        self.call = call
        startedAt = Clock.system.monotonic()
        endsAt = startedAt + Int64(plan.seconds) * 1_000_000_000
        stoppedAt = Atomic(endsAt)
        running = Atomic(plan.connections)
        do throws(SystemError) {
            wakeup = try Wakeup()
            for number in 0..<plan.connections { _ = try Thread(name: "bench \(number)") { [self] in work() } }
        } catch {
            throw CommandError("\(plan.connections) threads can't be started: \(error).", exitCode: ExitCode.software)
        }
    }

    var accepted: Int { acceptedCount.load(ordering: .relaxed) }
    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    var isRunning: Bool { running.load(ordering: .acquiring) > 0 }

    /// Ends the run early, after the open requests. Any thread.
    func stop() {
        stopped.store(true, ordering: .relaxed)
        let now = Clock.system.monotonic()
        if now < endsAt { stoppedAt.store(now, ordering: .relaxed) }
    }

    /// Waits for the given time, or until all responses have arrived. One thread.
    func wait(milliseconds: Int32) { wakeup.wait(milliseconds: milliseconds) }

    /// The result, after all threads have ended.
    func finish() -> Result {
        var result = result.withLock { $0 }
        let seconds = Double(stoppedAt.load(ordering: .relaxed) - startedAt) / 1e9
        if let rate = plan.rate {
            let sent = result.accepted.count + result.errors.values.reduce(0, +)
            result.unsent = max(0, Int(rate * seconds) - sent)
        }
        result.seconds = seconds
        return result
    }

    // MARK: The threads of the connections

    private func work() {
        var result = Result()
        do throws(CommandError) {
            let client = try APIClient(call)
            var request = client.request("POST", ["v1", "events"], body: plan.event.body)
            request.timeoutMilliseconds = 1000 * Self.requestSeconds
            while let start = nextStart() {
                if let rest = post(client, &request, start, &result) { sleep(until: Clock.system.monotonic() + rest) }
            }
        } catch {
            result.count(error.description)
        }
        self.result.withLock { $0.add(result) }
        if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { wakeup.signal() }
    }

    /// Waits for the due time of the next event and returns it; `nil` at the end.
    private func nextStart() -> Int64? {
        guard let rate = plan.rate else {
            let now = Clock.system.monotonic()
            return now < stoppedAt.load(ordering: .relaxed) ? now : nil
        }
        let start = startedAt + Int64(Double(due.add(1, ordering: .relaxed).oldValue) * 1e9 / rate)
        guard start < endsAt else { return nil }
        sleep(until: start)
        return Clock.system.monotonic() < stoppedAt.load(ordering: .relaxed) ? start : nil
    }

    /// - Returns: how long the connection has to pause, in nanoseconds.
    private func post(
        _ client: APIClient, _ request: inout HTTPRequest, _ start: Int64, _ result: inout Result
    ) -> Int64? {
        BenchEvent.write(start, into: &request.body, at: plan.event.timePlace)
        do throws(HTTPClientError) {
            let answer = try client.perform(request)
            guard (200..<300).contains(answer.status) else {
                result.count("status \(answer.status)")
                return nil
            }
            result.accepted.add((Clock.system.monotonic() - start) / 1000)
            acceptedCount.add(1, ordering: .relaxed)
            return nil
        } catch {
            result.count(Self.kind(of: error))
            return Self.rest
        }
    }

    /// The text of an error without the time that libcurl writes, " after 12 ms", so that equal errors are counted together.
    private static func kind(of error: HTTPClientError) -> String {
        let text = error.description
        guard let after = text.place(of: " after "), let unit = text[after.upperBound...].place(of: " ms"),
            text[after.upperBound..<unit.lowerBound].allSatisfy(\.isNumber)
        else { return text }
        return String(text[..<after.lowerBound] + text[unit.upperBound...])
    }

    /// In slices, to notice the end.
    private func sleep(until end: Int64) {
        while true {
            let now = Clock.system.monotonic()
            guard now < end, now < stoppedAt.load(ordering: .relaxed) else { return }
            let slice = min(end, now + Self.rest)
            var time = timespec(tv_sec: Int(slice / 1_000_000_000), tv_nsec: Int(slice % 1_000_000_000))
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
        }
    }
}

extension BenchLoad.Result {
    /// Further kinds of errors are counted together.
    private static let maxErrorKinds = 8

    fileprivate mutating func count(_ what: String, _ times: Int = 1) {
        let isKnown = errors[what] != nil || errors.count < Self.maxErrorKinds
        errors[isKnown ? what : "other", default: 0] += times
    }

    fileprivate mutating func add(_ other: Self) {
        accepted.add(other.accepted)
        for (what, times) in other.errors { count(what, times) }
    }
}
