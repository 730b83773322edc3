import HeraldModel

/// An open request.
struct OpenCallback {
    enum Purpose {
        case delivery(Lane.Origin)
        /// A test call; the closure receives the outcome.
        case test((CallbackOutcome?) -> Void)
        /// A request for consent to the receiver. A response must repeat the challenge if there is one. Consent
        /// holds only for the URL that gave it.
        case verification(challenge: String?, url: String)
    }

    /// A request of a client for the delivery, while its attempt is open.
    enum Request {
        case redelivery, cancellation
    }

    let lane: Lane
    /// 0 if the event is in no log.
    let sequence: LogPosition
    let event: Event
    /// Number of attempts before this one.
    let attempts: Int
    let purpose: Purpose
    let isReplay: Bool
    let startedAt: Int64
    /// It must not use an open connection.
    var isFresh = false
    /// `nil` for calls outside the lanes.
    var start: FlowControl.Start?
    /// The last request since the start.
    var requested: Request?
    /// The span of a delivery whose trace is recorded.
    var span: OpenSpan?

    var key: DeliveryKey { DeliveryKey(delegate: lane.key, event: sequence) }

    func endSpan(_ outcome: CallbackOutcome, _ tracer: (any Tracer)?) {
        guard let tracer, let span else { return }
        let attempt = SpanWork.Attempt(
            delegate: lane.delegate, eventID: event.id, eventType: event.type, number: attempts + 1, isReplay: isReplay,
            verdict: outcome.verdict, transport: outcome.transport)
        tracer.end(span, .attempt(attempt), lasted: outcome.duration * 1000)
    }
}

extension [OpenCallback?] {
    /// The tokens of a delivery's open attempts.
    func tokens(of key: DeliveryKey) -> [Int] {
        indices.filter { self[$0]?.sequence == key.event && self[$0]?.lane.key == key.delegate }
    }

    func hasRetry(_ key: DeliveryKey) -> Bool {
        tokens(of: key).contains { if case .delivery(.retry)? = self[$0]?.purpose { true } else { false } }
    }

    mutating func note(_ request: OpenCallback.Request, _ key: DeliveryKey) {
        for token in tokens(of: key) { self[token]?.requested = request }
    }
}
