import HeraldModel

/// The current limits of a delegate's deliveries, for display.
public struct FlowStatus: Equatable, Sendable {
    /// A reason why due deliveries cannot start.
    public enum Reason: String, Sendable, CaseIterable {
        /// The maximum number of requests is open.
        case concurrency
        /// The delegate's own `rate_limit`.
        case rateLimit = "rate_limit"
        /// The receiver rejects faster requests (429, 503), or failed many times in a row.
        case throttled
        /// The receiver fails: only probes are sent.
        case circuitOpen = "circuit_open"
        /// The delivery loop's slots are occupied by receivers that do not respond.
        case slots
        /// They wait for an earlier delivery, about the same subject or in strict order.
        case ordering
        /// Too many deliveries wait for a retry.
        case waiting
    }

    /// An event type that the receiver refuses while it accepts others.
    public struct RefusedType: Equatable, Sendable {
        /// The event type.
        public let type: String
        /// When the first of the failures ended, in milliseconds since 1970 UTC.
        package let since: Int64
        /// Since the last success of the type.
        public internal(set) var failures = 0
        /// The newest failure, in words.
        public internal(set) var reason: String
    }

    /// Whether the receiver works.
    public enum Circuit: String, Sendable, CaseIterable {
        /// It works.
        case closed
        /// It fails more often than usual.
        case suspect
        /// It fails: only probes are sent.
        case open
    }

    /// The reason why due deliveries cannot start; `nil` if they can.
    public let limitedBy: Reason?
    /// Whether the receiver works.
    public let circuit: Circuit
    /// When the next probe is due, in milliseconds since 1970 UTC; `nil` if the circuit is not open, or a probe is in
    /// flight.
    package let nextProbeAt: Int64?
    /// The number of requests that may be open now.
    public let concurrency: Int
    /// Attempts per second that the receiver accepts, as measured; `nil` if no limit was found.
    public let rate: Double?
    /// The share of rejections that does not depend on the rate, 0–0.95.
    public let toleratedRejections: Double
    /// The event types that the receiver refuses while it accepts others, at most 64.
    public let refusedTypes: [RefusedType]
    /// The subject with the most deliveries that wait for an earlier one.
    public let blockedSubject: String?

    package init(
        limitedBy: Reason? = nil, circuit: Circuit = .closed, nextProbeAt: Int64? = nil, concurrency: Int = 1,
        rate: Double? = nil, toleratedRejections: Double = 0, refusedTypes: [RefusedType] = [],
        blockedSubject: String? = nil
    ) {
        self.limitedBy = limitedBy
        self.circuit = circuit
        self.nextProbeAt = nextProbeAt
        self.concurrency = concurrency
        self.rate = rate
        self.toleratedRejections = toleratedRejections
        self.refusedTypes = refusedTypes
        self.blockedSubject = blockedSubject
    }
}

extension FlowControl {
    /// - Parameters:
    ///   - hasWork: the lane has something to start.
    ///   - isParked, waitsForTurn: as in `reason`.
    ///   - heldBack: what prevents starts if nothing else does.
    ///   - blockedSubject: the subject with the longest queue.
    ///   - wallOffset: milliseconds since 1970 UTC minus the monotonic clock.
    func status(
        open: Int, _ limits: Limits, hasWork: Bool, isParked: Bool, heldBack: FlowStatus.Reason? = nil,
        blockedSubject: String? = nil, waitsForTurn: Bool = false, now: Int64, wallOffset: Int64
    ) -> FlowStatus {
        let outage = breaker.outage
        let limit =
            hasWork ? reason(open: open, limits, isParked: isParked, waitsForTurn: waitsForTurn, now: now) : nil
        return FlowStatus(
            limitedBy: limit ?? heldBack,
            circuit: outage != nil ? .open : breaker.isSuspect ? .suspect : .closed,
            nextProbeAt: outage.flatMap { $0.isProbing ? nil : max($0.nextProbe, now) / 1_000_000 + wallOffset },
            concurrency: concurrency(limits),
            rate: rate.limit.isFinite ? rate.limit : nil, toleratedRejections: rate.tolerated,
            refusedTypes: refused.all, blockedSubject: blockedSubject)
    }

    /// No limit of the receiver is known.
    var isFree: Bool {
        !breaker.isOpen && !breaker.isSuspect && rate.limit.isInfinite && rate.open.requests == nil
            && refused.all.isEmpty
    }
}
