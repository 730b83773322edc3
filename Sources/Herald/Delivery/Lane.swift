/// The position of one delegate in the event log, with what is in flight and what waits for a retry.
///
/// A value without I/O: the delivery loop that owns it asks, acts, and reports back. `next` says how far it is:
///
/// - `nil`: the lane is *caught up*. The router offers it each new event; nothing is queued for it.
/// - a sequence: the lane is *behind*. It reads the log by itself from there when it may start something, until it is
///   caught up. A slow, paused or failing delegate costs this number, whatever has been published since.
struct Lane {
    /// How the delegate has answered lately.
    enum Health: Equatable {
        /// With so many failures in a row.
        case working(failures: Int)
        /// Too many in a row. Nothing is sent but one attempt at a time from `probeAt` on; `pause` is the distance to
        /// the next probe (nanoseconds). Exits: a success makes it `working`.
        case failing(since: Int64, probeAt: Int64, pause: Int64)
    }

    /// What becomes of a delivery after an attempt.
    enum Settlement: Equatable {
        case delivered
        /// Try again after so many nanoseconds; it counts as `attempts`.
        case retry(after: Int64, attempts: Int)
        case exhausted(attempts: Int)
        /// The delegate as a whole is failing: the delivery waits for a later probe with the attempts it had.
        case held
    }

    /// Failures in a row that stop a lane.
    static let failuresBeforeStop = 5
    /// Between probes: the first pause, doubled up to the last.
    static let firstPause: Int64 = 5_000_000_000
    static let longestPause: Int64 = 300_000_000_000
    /// Deliveries of one lane that may wait for a retry; past it the lane takes no new event until one is settled, so
    /// that memory stays bounded.
    static let maxWaiting = 10_000
    /// Requests open at once before the first answer. It doubles with each success up to the delegate's limit and
    /// halves with each failure, so that an unresponsive delegate holds few sockets.
    static let firstWindow = 4

    private(set) var delegate: WebhookDelegate
    private(set) var next: Sequence?
    /// First tries that are open, ascending.
    private(set) var inFlight: [Sequence] = []
    private(set) var retriesInFlight = 0
    private(set) var health = Health.working(failures: 0)
    /// Deliveries whose next attempt waits for time, for room or for a probe: rows of the store.
    private(set) var waiting = 0
    /// Retries that are due but could not start yet.
    private(set) var held = RetryLine()
    /// The last event that was started or passed over by reading.
    private(set) var position: Sequence
    /// It has changed since the last checkpoint.
    var isTouched = false
    private var window = firstWindow
    private var retryIsNext = false
    /// While failing: so many probes go to deliveries that failed already before the next one is a new event. Each round
    /// is longer than the one before, so that an outage costs few rows, and an event that always fails bars no other.
    private var probesBeforeNew = 0
    /// Up to here everything is settled, also when the router's position is behind it after a restart.
    private let floor: Sequence
    /// After a restart: events beyond the cursor that were settled before it.
    private var decided: Set<Sequence>
    private let subjects: Set<String>

    /// - Parameters:
    ///   - next: where to read from, `nil` when the router's position is the lane's.
    ///   - position: the last event that was looked at; those of `decided` were as well.
    ///   - waiting: how many deliveries wait for a retry.
    init(
        _ delegate: WebhookDelegate, next: Sequence?, position: Sequence, waiting: Int = 0, decided: Set<Sequence> = []
    ) {
        self.delegate = delegate
        self.next = next
        self.position = max(position, decided.max() ?? position)
        self.waiting = waiting
        self.decided = decided
        floor = max(delegate.start, next.map { $0 - 1 } ?? 0)
        subjects = Set(delegate.settings.subjects)
    }

    /// The same lane with the delegate's new settings. Somebody who gives it another address, or resumes it, thinks that
    /// it works: it need not wait for a probe.
    init(_ lane: Lane, changedTo delegate: WebhookDelegate) {
        self.delegate = delegate
        subjects = Set(delegate.settings.subjects)
        next = lane.next
        inFlight = lane.inFlight
        retriesInFlight = lane.retriesInFlight
        let isMended =
            delegate.settings.url != lane.delegate.settings.url
            || (lane.delegate.status == .paused && delegate.status == .active)
        health = isMended ? .working(failures: 0) : lane.health
        waiting = lane.waiting
        held = lane.held
        position = lane.position
        isTouched = lane.isTouched
        window = lane.window
        retryIsNext = lane.retryIsNext
        probesBeforeNew = lane.probesBeforeNew
        floor = lane.floor
        decided = lane.decided
    }

    var isPaused: Bool { delegate.status == .paused }
    var open: Int { inFlight.count + retriesInFlight }
    /// There is something to send, if it may.
    var hasWork: Bool { next != nil || !held.isEmpty }
    /// Neither behind nor with anything open: at the common position.
    var isSettled: Bool { next == nil && inFlight.isEmpty }

    /// Everything up to here is settled, or has a row of its own.
    /// - Precondition: not `isSettled`: then it is the common position.
    var cursor: Sequence { min(inFlight.first ?? .max, next ?? .max) - 1 }

    // MARK: Deciding

    /// Whether this delegate is to be told of this event, by its settings of the moment.
    mutating func wants(_ event: Event, _ sequence: Sequence) -> Bool {
        guard sequence > floor, event.app == delegate.app else { return false }
        if !subjects.isEmpty {
            guard let subject = event.subject, subjects.contains(subject) else { return false }
        }
        return decided.isEmpty || decided.remove(sequence) == nil
    }

    /// Whether the patterns match: for a lane that reads by itself. The router has asked this already.
    func matches(_ event: Event) -> Bool {
        delegate.settings.events.contains { $0.matches(event.type) }
    }

    /// Whether another attempt may start now.
    func mayStart(now: Int64) -> Bool {
        if isPaused { return false }
        switch health {
        case .working: return open < min(window, delegate.settings.maxInFlight)
        case .failing(_, let probeAt, _): return open == 0 && now >= probeAt
        }
    }

    /// Whether what starts next is to be a retry; retries and first tries take turns.
    var prefersRetry: Bool {
        guard !held.isEmpty else { return false }
        if next == nil || !mayTakeNewEvent { return true }
        if case .failing = health { return probesBeforeNew > 0 }
        return retryIsNext
    }

    var mayTakeNewEvent: Bool { waiting < Self.maxWaiting }

    // MARK: Reading

    /// The lane can't take this event now: it goes on from there by itself.
    mutating func fallBehind(from sequence: Sequence) {
        if next == nil { next = sequence }
    }

    /// The lane has looked at this event, and at all before it.
    mutating func pass(_ sequence: Sequence) {
        next = sequence + 1
        // After a restart it comes by events again that it had looked at.
        position = max(position, sequence)
    }

    /// The end of the log is reached: from here on the router offers.
    mutating func catchUp() {
        // After a restart the router may be behind the lane: what was settled beyond it stays so.
        if !decided.isEmpty, let next { decided = decided.filter { $0 >= next } }
        next = nil
    }

    // MARK: Attempts

    mutating func started(_ sequence: Sequence) {
        inFlight.append(sequence)
        position = max(position, sequence)
        retryIsNext = true
        probesBeforeNew = held.count + 1
    }

    /// A retry is due; it starts as soon as it may.
    mutating func hold(_ retry: Retry) {
        held.append(retry)
    }

    mutating func startHeldRetry() -> Retry {
        retriesInFlight += 1
        retryIsNext = false
        probesBeforeNew = max(0, probesBeforeNew - 1)
        return held.removeFirst()
    }

    /// The event of a retry that was started is no longer there.
    mutating func abandonRetry() {
        retriesInFlight -= 1
        waiting -= 1
    }

    /// An attempt was not made after all; its delivery waits.
    mutating func returned(_ sequence: Sequence, isRetry: Bool) {
        if isRetry {
            retriesInFlight -= 1
        } else if let index = inFlight.firstIndex(of: sequence) {
            inFlight.remove(at: index)
            waiting += 1
        }
    }

    /// An attempt has ended.
    /// - Parameters:
    ///   - attempts: how many were made before it.
    ///   - random: within 0..<1, for the jitter.
    mutating func finished(
        _ sequence: Sequence, isRetry: Bool, attempts: Int, outcome: CallbackOutcome, now: Int64, random: Double
    ) -> Settlement {
        if isRetry {
            retriesInFlight -= 1
        } else if let index = inFlight.firstIndex(of: sequence) {
            inFlight.remove(at: index)
        }
        if outcome.isSuccess {
            health = .working(failures: 0)
            window = min(window * 2, delegate.settings.maxInFlight)
            if isRetry { waiting -= 1 }
            return .delivered
        }
        if noteFailure(now: now) {
            if !isRetry { waiting += 1 }
            return .held
        }
        guard
            let delay = RetrySchedule.delay(
                delegate.settings.retrySchedule, attempts: attempts + 1, after: outcome, random: random)
        else {
            if isRetry { waiting -= 1 }
            return .exhausted(attempts: attempts + 1)
        }
        if !isRetry { waiting += 1 }
        return .retry(after: Int64(delay * 1_000_000_000), attempts: attempts + 1)
    }

    /// Returns whether the lane was stopped already.
    private mutating func noteFailure(now: Int64) -> Bool {
        window = max(1, window / 2)
        switch health {
        case .working(let failures) where failures + 1 < Self.failuresBeforeStop:
            health = .working(failures: failures + 1)
            return false
        case .working:
            probesBeforeNew = 1
            health = .failing(since: now, probeAt: now + Self.firstPause, pause: Self.firstPause)
            window = 1
            return false
        case .failing(let since, let probeAt, let pause):
            // Attempts that were open when the lane stopped end here too: only a probe moves the next probe.
            if now >= probeAt {
                let longer = min(pause * 2, Self.longestPause)
                health = .failing(since: since, probeAt: now + longer, pause: longer)
            }
            return true
        }
    }
}
