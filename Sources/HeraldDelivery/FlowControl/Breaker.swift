import HeraldModel

/// Whether a receiver is available at all. Pure; times are monotonic nanoseconds unless noted otherwise.
///
/// Failures count in a *series*: those whose attempts began after the newest success had begun. So late failures, such
/// as timeouts, do not count against a receiver that has responded since. Repeated failures of one delivery count once,
/// unless no other delivery can be tried, or there was no connection: the cause may be the delivery.
///
/// - *closed*: attempts start as the other limits allow. From `suspectAfter` failures in a row the receiver is
///   *suspect*: one attempt at a time, ten per second.
/// - *open*: after `openAfter` failures in a row over `openAge`, only probes are sent, one at a time. A probe that
///   fails doubles the pause; a success closes the breaker.
struct Breaker: Equatable {
    static let suspectAfter = 20
    static let openAfter = 5
    static let openAge: Int64 = 2_000_000_000
    static let suspectInterval: Int64 = 100_000_000
    static let firstPause: Int64 = 1_000_000_000
    static let longestPause: Int64 = 60_000_000_000
    /// Milliseconds of an outage that this process must have seen before the delegate is disabled.
    static let shortestSeen: Int64 = 600_000

    enum State: Equatable {
        /// `since`: when the first attempt of the series began.
        case closed(failures: Int, since: Int64)
        case open(Outage)
    }

    struct Outage: Equatable {
        /// Milliseconds since 1970 UTC; for people.
        let since: Int64
        /// When the breaker opened, or the process started.
        let openedAt: Int64
        /// How long the outage had lasted at `openedAt`, in milliseconds.
        var age: Int64 = 0
        /// Only attempts that began after this time show whether it is over.
        let rowSince: Int64
        var nextProbe: Int64
        var pause: Int64
        var isProbing = false

        /// Milliseconds, by the monotonic clock: a step of the wall clock disables no delegate.
        func duration(at now: Int64) -> Int64 { age + seen(at: now) }

        /// How long this process has seen it, in milliseconds. Deliveries that failed before its start are not in its series.
        func seen(at now: Int64) -> Int64 { (now - openedAt) / 1_000_000 }

        /// Whether it has lasted for so many milliseconds. The time before the start counts, although perhaps no process ran then,
        /// or the clock was wrong: one probe after the start disables no delegate.
        func hasLasted(_ patience: Int64, at now: Int64) -> Bool {
            duration(at: now) >= patience && seen(at: now) >= min(patience, Breaker.shortestSeen)
        }
    }

    /// The change after an attempt.
    enum Change: Equatable {
        case none
        case opened
        /// It was already open.
        case stayedOpen
        /// It has been open for as long as the delegate's owner allows.
        case lost
        /// It was open for this many nanoseconds.
        case closed(after: Int64)
    }

    private(set) var state = State.closed(failures: 0, since: 0)
    /// The first deliveries of the series, at most `openAfter`.
    private var deliveries: [LogPosition] = []
    /// When the attempt of the newest success began.
    private(set) var newestSuccess: Int64?
    /// The event type of all failures of the series; empty if there are several, or none.
    private(set) var seriesType = ""
    private var hasSeveralTypes = false

    init() {}

    /// For a receiver that was failing when the process ended.
    /// - Parameter age: how long, in milliseconds.
    init(failingSince since: Int64, age: Int64, now: Int64, nextProbe: Int64) {
        state = .open(
            Outage(
                since: since, openedAt: now, age: age, rowSince: now, nextProbe: nextProbe, pause: Self.firstPause))
    }

    var outage: Outage? {
        if case .open(let outage) = state { return outage }
        return nil
    }

    var isOpen: Bool { outage != nil }

    /// The length of the series; 0 while it is open.
    var failures: Int {
        if case .closed(let failures, _) = state { return failures }
        return 0
    }

    var isSuspect: Bool { failures >= Self.suspectAfter }

    /// It has responded, and has not failed since.
    var isProven: Bool {
        if case .closed(0, _) = state { return newestSuccess != nil }
        return false
    }

    /// All failures of the series are of one delivery.
    var isOneDelivery: Bool { deliveries.count == 1 }

    mutating func probeStarted() {
        guard case .open(var outage) = state else { return }
        outage.isProbing = true
        state = .open(outage)
    }

    mutating func succeeded(startedAt: Int64, now: Int64) -> Change {
        if let newest = newestSuccess, newest >= startedAt {} else { newestSuccess = startedAt }
        switch state {
        case .closed(let failures, let since):
            if failures > 0, startedAt >= since { endRow() }
            return .none
        case .open(let outage):
            guard startedAt >= outage.rowSince else { return .none }
            endRow()
            return .closed(after: now - outage.openedAt)
        }
    }

    private mutating func endRow() {
        state = .closed(failures: 0, since: 0)
        deliveries.removeAll(keepingCapacity: true)
        (seriesType, hasSeveralTypes) = ("", false)
    }

    /// - Parameters:
    ///   - delivery: the event of the delivery.
    ///   - type: the event type of the delivery.
    ///   - isRefused: the receiver refuses this type and accepts others, so the failure is not of the receiver.
    ///   - countsRepeats: it counts even if it is already in the series.
    ///   - startedAt: when the attempt began.
    ///   - isProbe: it was started while the breaker was open.
    ///   - wall: milliseconds since 1970 UTC.
    ///   - minimumDelay: the pause that the receiver requested.
    ///   - patience: the milliseconds of an outage after which the delegate is disabled.
    ///   - random: within 0..<1; probes come after half to all of the pause, so that those of many lanes spread.
    ///   - reserve: finds a time for a probe, from then on; see `ProbeCalendar`.
    /// - Returns: what changed, and whether the failure belongs to the row.
    mutating func failed(
        _ delivery: LogPosition, type: String = "", isRefused: Bool = false, countsRepeats: Bool, startedAt: Int64,
        isProbe: Bool, now: Int64, wall: Int64,
        minimumDelay: Int64, patience: Int64, random: Double,
        reserve: (Int64) -> Int64
    ) -> (change: Change, counts: Bool) {
        func pause(_ length: Int64) -> Int64 { Int64(Double(length) * (0.5 + 0.5 * random)) }
        switch state {
        case .closed(let failures, let since):
            if let newestSuccess, startedAt <= newestSuccess { return (.none, false) }
            if isRefused { return (.none, false) }
            let isNew = record(delivery, type)
            guard isNew || countsRepeats || deliveries.count >= Self.openAfter else { return (.none, true) }
            let since = failures == 0 ? startedAt : min(since, startedAt)
            guard failures + 1 >= Self.openAfter, now - since >= Self.openAge else {
                state = .closed(failures: failures + 1, since: since)
                return (.none, true)
            }
            state = .open(
                Outage(
                    since: wall, openedAt: now, rowSince: startedAt,
                    nextProbe: reserve(now + max(pause(Self.firstPause), minimumDelay)), pause: Self.firstPause))
            return (.opened, true)
        case .open(var outage):
            // Attempts that were open when the breaker opened end here too, and probes of an earlier outage: only a probe of this one
            // moves the next probe.
            guard isProbe, startedAt >= outage.openedAt else { return (.stayedOpen, true) }
            outage.isProbing = false
            if !isRefused {
                _ = record(delivery, type)
                outage.pause = min(outage.pause * 2, Self.longestPause)
            }
            outage.nextProbe = reserve(max(now, startedAt + pause(outage.pause), now + minimumDelay))
            state = .open(outage)
            return (outage.hasLasted(patience, at: now) ? .lost : .stayedOpen, true)
        }
    }

    /// - Returns: whether the delivery is new in the series.
    private mutating func record(_ delivery: LogPosition, _ type: String) -> Bool {
        if deliveries.isEmpty, !hasSeveralTypes {
            seriesType = type
        } else if seriesType != type {
            (seriesType, hasSeveralTypes) = ("", true)
        }
        guard deliveries.count < Self.openAfter, !deliveries.contains(delivery) else { return false }
        deliveries.append(delivery)
        return true
    }

    /// A probe was not made after all.
    mutating func probeReturned(startedAt: Int64) {
        guard case .open(var outage) = state, startedAt >= outage.openedAt else { return }
        outage.isProbing = false
        state = .open(outage)
    }

    /// The operator resumed the delegate: the next probe is due now.
    mutating func expectRecovery() {
        guard case .open(var outage) = state else { return endRow() }
        outage.nextProbe = 0
        outage.pause = Self.firstPause
        state = .open(outage)
    }
}
