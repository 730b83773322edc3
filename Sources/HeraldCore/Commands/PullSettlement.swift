import HeraldModel

/// Decides about the events of a lease that ends. The rules are pure: the clock and chance are parameters.
struct PullSettlement {
    private let delegate: WebhookDelegate
    private let lease: PullLease
    /// Milliseconds since 1970 UTC.
    private let now: Int64
    /// The rows of the lease's events that wait for its end. A row that was cancelled ends with the lease.
    private let rows: [LogPosition: WaitingDelivery]
    /// The events with a row that is not the lease's: a redelivery has written it, and it stays as it is, also if it has ended.
    private let redelivered: Set<LogPosition>
    private(set) var checkpoint = Checkpoint()
    private(set) var acknowledged = 0
    private(set) var retrying = 0
    /// Given back, without an attempt.
    private(set) var returned = 0
    /// The events whose schedule is used up, with their numbers of attempts.
    private(set) var exhausted: [(event: LogPosition, attempts: Int)] = []
    private var statistics: DeliveryStatistics

    /// - Parameters:
    ///   - rows: the rows of its events that wait for a retry, and all rows of events that had none when the lease began. Without
    ///     the latter, the lease may only be acknowledged as a whole.
    ///   - now: milliseconds since 1970 UTC.
    init(_ lease: PullLease, of delegate: WebhookDelegate, rows: [WaitingDelivery], now: Int64) {
        self.lease = lease
        self.delegate = delegate
        self.now = now
        let own = lease.own(rows)
        self.rows = Dictionary(own.map { ($0.event, $0) }) { $1 }
        redelivered = own.count == rows.count ? [] : Set(rows.map(\.event)).subtracting(self.rows.keys)
        statistics = DeliveryStatistics(
            delegate: delegate.key, start: now - now % DeliveryStatistics.slot)
        checkpoint.isOfPull = true
    }

    /// Settles a lease that a consumer has acknowledged.
    /// - Parameters:
    ///   - failures: the events that failed.
    ///   - random: within 0..<1, for the jitter of retries.
    mutating func acknowledge(_ failures: [LogPosition: PullWrite.Failed], random: () -> Double) {
        var isBehindFailure = false
        for entry in lease.entries {
            if let failure = failures[entry.event], !isBehindFailure {
                if failure.isReturned { giveBack(entry) } else { fail(entry, .refused, failure, random) }
                isBehindFailure = delegate.settings.ordering == .strict
            } else if isBehindFailure {
                // What follows in the order must not pass it.
                giveBack(entry)
            } else {
                acknowledge(entry)
            }
        }
        end()
    }

    /// Settles a lease that has expired: one of its events may have ended its consumer. So each is handed out alone from
    /// now on, and uses up its own schedule only.
    mutating func expire(random: () -> Double) {
        for entry in lease.entries { fail(entry, .leaseExpired, nil, random) }
        end()
    }

    /// Gives back all events, without an attempt.
    mutating func release() {
        for entry in lease.entries { giveBack(entry) }
        end()
    }

    private mutating func acknowledge(_ entry: PullLease.Entry) {
        acknowledged += 1
        if entry.hasRow, !redelivered.contains(entry.event) {
            checkpoint.ended.append(DeliveryKey(delegate: delegate.key, event: entry.event))
        }
        record(entry, failure: nil, detail: "")
    }

    private mutating func fail(
        _ entry: PullLease.Entry, _ cause: CallbackFailure, _ failure: PullWrite.Failed?, _ random: () -> Double
    ) {
        record(entry, failure: cause, detail: failure?.reason ?? "")
        guard isOpen(entry) else { return }
        let attempts = entry.attempts + 1
        let schedule = delegate.settings.retrySchedule
        let counted = attempts - entry.uncounted
        guard counted >= 1, counted <= schedule.count else {
            exhausted.append((entry.event, attempts))
            return wait(entry, attempts: attempts, dueAt: now, .exhausted)
        }
        retrying += 1
        let delay = failure?.retryAfter.map(Double.init) ?? schedule[counted - 1] * (0.8 + 0.4 * random())
        wait(
            entry, attempts: attempts, dueAt: now + Int64(delay * 1_000), .retrying, isAlone: cause == .leaseExpired)
    }

    private mutating func giveBack(_ entry: PullLease.Entry) {
        returned += 1
        if isOpen(entry) { wait(entry, attempts: entry.attempts, dueAt: now, .retrying) }
    }

    /// Whether the end of the lease decides about the event: it was neither cancelled nor redelivered since.
    private func isOpen(_ entry: PullLease.Entry) -> Bool {
        entry.hasRow ? rows[entry.event] != nil : !redelivered.contains(entry.event)
    }

    /// - Parameter isAlone: it is handed out alone from now on. If it was before, it stays so.
    private mutating func wait(
        _ entry: PullLease.Entry, attempts: Int, dueAt: Int64, _ state: WaitingDelivery.State, isAlone: Bool = false
    ) {
        let row = rows[entry.event]
        var delivery = WaitingDelivery(
            delegate: delegate.key, event: entry.event, attempts: attempts, dueAt: dueAt, state: state,
            isReplay: row?.isReplay ?? false, isNamed: row?.isNamed ?? false, uncounted: entry.uncounted)
        delivery.isAlone = state == .retrying && (isAlone || row?.isAlone == true)
        checkpoint.waiting.append(delivery)
    }

    private mutating func record(_ entry: PullLease.Entry, failure: CallbackFailure?, detail: String) {
        let duration = max(0, now - lease.createdAt) * 1_000
        var attempt = AttemptRecord(
            delegate: delegate.key, event: entry.event, number: entry.attempts + 1, startedAt: lease.createdAt,
            duration: duration, status: failure == nil ? Self.acknowledgedStatus : nil, failure: failure,
            detail: detail,
            excerpt: [])
        attempt.isReplay = rows[entry.event]?.isReplay ?? false
        checkpoint.attempts.append(attempt)
        statistics.count(succeeded: failure == nil, duration: duration)
    }

    private mutating func end() {
        if statistics.delivered + statistics.failed > 0 { checkpoint.statistics = [statistics] }
    }

    /// An acknowledgement is recorded like the response of a webhook: 200, success.
    private static let acknowledgedStatus = 200
}
