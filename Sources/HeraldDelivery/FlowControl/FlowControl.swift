import HeraldModel

/// When a lane may start an attempt: the composition of its breaker, its rate and its concurrency. Pure; times are
/// monotonic nanoseconds unless noted otherwise.
///
/// The interval between starts is kept with the generic cell rate algorithm (ITU-T I.371): each start moves the
/// earliest next one by an interval.
struct FlowControl: Equatable, Sendable {
    /// Recorded for an attempt when it starts.
    struct Start: Equatable, Sendable {
        let at: Int64
        /// The window of `RateControl`.
        let window: UInt32
        /// How often everything learned had been forgotten.
        let epoch: UInt32
        /// The breaker was open.
        let isProbe: Bool
        /// The receiver refuses the event's type.
        var isRefused = false
        /// The window of `OriginRate`; `nil` if its origin has no other lane.
        var originWindow: UInt32? = nil
        /// The share of rejections at the origin if its rate is limited; otherwise 0.
        var background: Float = 0
    }

    /// The limits of the delegate's settings.
    struct Limits: Equatable {
        /// 1–256.
        let maxInFlight: Int
        /// Attempts per second.
        let rateLimit: Double?
        /// Milliseconds of an outage after which the receiver is given up.
        let patience: Int64
    }

    /// Starts may be early by this time, so that a loop that wakes every millisecond keeps up with a rate of thousands.
    /// Longer intervals are kept exactly.
    private static let tolerance: Int64 = 10_000_000

    private(set) var breaker = Breaker()
    private(set) var rate = RateControl()
    private(set) var concurrency = Concurrency()
    private(set) var refused = RefusedTypes()
    private var pause = RequestedPause()
    private var nextStart: Int64 = 0
    /// How often everything learned was forgotten.
    private var epoch: UInt32 = 0
    /// When the newest attempt began that succeeded.
    private var newestSuccess = Int64.min / 2
    /// Its open requests that occupy slots; see `Slots`.
    var held: Int32 = 0
    /// Its open requests that are late; see `Slots`.
    var late: Int32 = 0

    init() {}

    /// For a receiver that was failing when the process ended.
    /// - Parameter age: how long, in milliseconds.
    init(failingSince since: Int64, age: Int64, now: Int64, nextProbe: Int64) {
        breaker = Breaker(failingSince: since, age: age, now: now, nextProbe: nextProbe)
    }

    // MARK: Deciding

    /// Whether it may get a slot when half of them are occupied.
    var mayTakeReserve: Bool { held == 0 && breaker.isProven }

    func mayStart(open: Int, _ limits: Limits, now: Int64) -> Bool {
        hasRoom(open: open, limits, now: now) && now >= earliestStart(limits)
    }

    /// When an attempt may start that waits only for a time.
    func startTime(open: Int, _ limits: Limits, now: Int64) -> Int64? {
        guard hasRoom(open: open, limits, now: now) else {
            // A request that becomes late makes room for another one.
            return held > 0 && mayPassOver(limits, now: now) ? now + Slots.heldAge : nil
        }
        let start = earliestStart(limits)
        return start > now ? start : nil
    }

    private func hasRoom(open: Int, _ limits: Limits, now: Int64) -> Bool {
        if case .open(let outage) = breaker.state { return !outage.isProbing && open < limits.maxInFlight }
        return open - passedOver(open: open, limits, now: now) < concurrency(limits)
    }

    /// The number of requests that may be open, without those that hang.
    func concurrency(_ limits: Limits) -> Int {
        breaker.isOpen ? 1 : min(concurrency.limit, limits.maxInFlight, rate.open.requests ?? .max)
    }

    /// The number of open requests that hang: they are late, and the receiver has responded to newer ones. They leave
    /// their room to others, up to three times `maxInFlight`. If nothing gets a response, none is passed over.
    private func passedOver(open: Int, _ limits: Limits, now: Int64) -> Int {
        mayPassOver(limits, now: now) ? min(Int(late), open, 3 * limits.maxInFlight) : 0
    }

    private func mayPassOver(_ limits: Limits, now: Int64) -> Bool {
        limits.maxInFlight > 1 && now - newestSuccess < Slots.lateAge
    }

    private func earliestStart(_ limits: Limits) -> Int64 {
        let interval = interval(limits)
        let spaced = interval < Self.tolerance ? nextStart - Self.tolerance : nextStart
        if case .open(let outage) = breaker.state { return max(outage.nextProbe, spaced) }
        return max(spaced, pause.end)
    }

    /// The interval between two starts, in nanoseconds.
    private func interval(_ limits: Limits) -> Int64 {
        // Probes have intervals of their own.
        let found = breaker.isOpen ? 0 : max(rate.interval, breaker.isSuspect ? Breaker.suspectInterval : 0)
        return max(found, Self.interval(limits.rateLimit))
    }

    private static func interval(_ rate: Double?) -> Int64 {
        guard let rate, rate > 0 else { return 0 }
        return Int64(exactly: (1e9 / rate).rounded()) ?? .max / 4
    }

    // MARK: Attempts

    mutating func started(_ limits: Limits, now: Int64) -> Start {
        let interval = interval(limits)
        if interval > 0 { nextStart = max(nextStart, now) + interval }
        let start = Start(at: now, window: rate.started(now: now), epoch: epoch, isProbe: breaker.isOpen)
        if start.isProbe { breaker.probeStarted() }
        return start
    }

    /// Whether an attempt began before the receiver changed: its outcome says nothing about the present one.
    func isOutdated(_ start: Start) -> Bool { start.epoch != epoch }

    /// An attempt was not made after all, or its outcome says nothing.
    mutating func returned(_ start: Start) {
        if start.isProbe, !isOutdated(start) { breaker.probeReturned(startedAt: start.at) }
    }

    /// Nothing starts before this time.
    mutating func wait(until time: Int64) { nextStart = max(nextStart, time) }

    /// - Parameter type: the event type.
    mutating func succeeded(_ start: Start, type: String = "", _ limits: Limits, now: Int64) -> Breaker.Change {
        refused.succeeded(type)
        let wasSuspect = breaker.isSuspect
        newestSuccess = max(newestSuccess, start.at)
        pause.succeeded(startedAt: start.at)
        let change = breaker.succeeded(startedAt: start.at, now: now)
        answered(isRejection: false, start, now: now)
        if case .closed(let outage) = change {
            rate.recovered(after: outage, now: now)
            nextStart = 0
        }
        if wasSuspect, !breaker.isSuspect { nextStart = 0 }
        if !breaker.isOpen { concurrency.succeeded(max: limits.maxInFlight) }
        return change
    }

    /// - Parameters:
    ///   - type: the event type.
    ///   - isAlone: the lane tries no other delivery before this one has ended.
    ///   - wall, random, reserve: as in `Breaker.failed`.
    mutating func failed(
        _ start: Start, _ delivery: LogPosition, type: String = "", isAlone: Bool, _ outcome: CallbackOutcome,
        _ limits: Limits,
        now: Int64, wall: Int64, random: Double, reserve: (Int64) -> Int64
    ) -> Breaker.Change {
        let meaning = outcome.meaning
        let concernsType = outcome.mayConcernType
        if concernsType { refused.failed(type, outcome.reason, wall: wall) }
        let isRefused = concernsType && refuses(type, now: now)
        let wasSuspect = breaker.isSuspect
        // A rejection of a type that the receiver refuses anyway says nothing about the rate.
        if meaning.isAnswer, !isRefused { answered(isRejection: meaning == .rejection, start, now: now) }
        let minimumDelay = Int64(outcome.retryAfter ?? 0) * 1_000_000_000
        if meaning == .rejection, !breaker.isOpen, !isRefused {
            switch pause.requested(minimumDelay, startedAt: start.at, now: now) {
            case .ignored: break
            case .noted: return .none
            case .begun:
                concurrency.collapse()
                return .none
            }
        }
        let (change, counts) = breaker.failed(
            delivery, type: concernsType ? type : "", isRefused: isRefused,
            countsRepeats: isAlone || meaning == .unreachable, startedAt: start.at, isProbe: start.isProbe,
            now: now, wall: wall, minimumDelay: minimumDelay, patience: limits.patience, random: random,
            reserve: reserve)
        if counts, meaning == .hang && breaker.failures >= Breaker.openAfter || breaker.isSuspect || breaker.isOpen {
            concurrency.collapse()
        }
        if change == .opened { rate.interrupted() }
        if breaker.isSuspect, !wasSuspect { nextStart = max(nextStart, now + Breaker.suspectInterval) }
        return change
    }

    private mutating func answered(isRejection: Bool, _ start: Start, now: Int64) {
        let isLifted = rate.answered(
            isRejection: isRejection, window: start.window, duration: now - start.at,
            background: Double(start.background), now: now)
        if isLifted { nextStart = min(nextStart, now) }
    }

    // MARK: Event types

    /// Whether the receiver refuses this type and accepts others.
    func refuses(_ type: String, now: Int64) -> Bool {
        guard let newest = breaker.newestSuccess, now - newest <= RefusedTypes.staleAfter else { return false }
        return refused.contains(type)
    }

    /// Whether a probe with an event of another type says more about the receiver.
    func isDoubtful(_ type: String) -> Bool { breaker.seriesType == type || refused.contains(type) }

    /// Many retries have become due while the process was not running. They are not sent all at once.
    mutating func resumed(now: Int64) { rate.recovered(after: .max, now: now) }

    // MARK: What operators say

    /// The delegate's rate limit has changed: the planned start is no longer valid.
    mutating func rateLimitChanged() { nextStart = 0 }

    /// The receiver has changed: what was learned is no longer valid. Open requests stay counted.
    mutating func forget() {
        let (held, late, epoch) = (held, late, epoch)
        self = FlowControl()
        (self.held, self.late, self.epoch) = (held, late, epoch &+ 1)
    }

    /// The operator resumed the delegate.
    mutating func expectRecovery() {
        breaker.expectRecovery()
        pause = RequestedPause()
    }

    /// A delivery was requested again: one request does not wait for the end of the pause.
    /// - Returns: `false` if there is no pause.
    mutating func endPause(now: Int64) -> Bool { pause.endEarly(now: now) }

    // MARK: What people see

    /// The reason why a lane with work cannot start an attempt now.
    /// - Parameters:
    ///   - isParked: it waits for a slot.
    ///   - waitsForTurn: it waits for its turn at its origin.
    func reason(open: Int, _ limits: Limits, isParked: Bool, waitsForTurn: Bool, now: Int64) -> FlowStatus.Reason? {
        if breaker.isOpen { return .circuitOpen }
        if waitsForTurn { return .throttled }
        if !hasRoom(open: open, limits, now: now) { return .concurrency }
        if now < pause.end { return .throttled }
        // Without an interval, this machine had no socket for the last attempt: that is no limit of the delegate.
        if interval(limits) > 0, now < earliestStart(limits) {
            return Self.interval(limits.rateLimit) >= interval(limits) ? .rateLimit : .throttled
        }
        return isParked ? .slots : nil
    }
}

/// How many requests may be open at once, up to the delegate's own limit. Pure.
///
/// An unknown receiver gets one. Each success doubles that, up to the delegate's `max_in_flight`; a receiver that hangs
/// five times or fails many times in a row is back at one, so that it occupies few slots.
struct Concurrency: Equatable {
    private var requests: UInt32 = 1

    var limit: Int { Int(requests) }

    mutating func succeeded(max: Int) { requests = UInt32(min(limit * 2, max)) }
    mutating func collapse() { requests = 1 }
}
