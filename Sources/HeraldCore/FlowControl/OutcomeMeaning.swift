/// What the outcome of an attempt says about its receiver. Flow control, retries, health and metrics all ask here.
package enum OutcomeMeaning: String, CaseIterable, Sendable {
    /// 2xx.
    case success
    /// 429 or 503: the receiver is there and takes no more for now.
    case rejection
    /// Another answer, or a connection that broke before one. The cause may be the event: it says nothing about the rate.
    case failure
    /// No connection. The cause is not the event.
    case unreachable
    /// No answer within the timeout: the request held a slot all that time.
    case hang

    /// Whether the receiver has decided about the request, so that its answer tells something about the rate.
    var isAnswer: Bool { self != .unreachable && self != .hang }
}

extension CallbackOutcome {
    var meaning: OutcomeMeaning {
        switch verdict {
        case .answered(200...299, _): .success
        case .answered(429, _), .answered(503, _): .rejection
        case .answered: .failure
        case .failed(.timeout, _): .hang
        case .failed(.protocolError, _): .failure
        case .failed: .unreachable
        }
    }

    /// 410: the receiver says that its endpoint has been removed for good.
    var isGone: Bool {
        if case .answered(410, _) = verdict { return true }
        return false
    }

    /// Seconds that a rejection asked for with `Retry-After`.
    var retryAfter: Int? {
        if meaning == .rejection, case .answered(_, let seconds) = verdict { return seconds }
        return nil
    }

    /// No answer in time, or from a gateway that got none: the same delivery is not tried again within a minute.
    var needsRest: Bool {
        switch verdict {
        case .failed(.timeout, _), .answered(502, _), .answered(504, _): true
        default: false
        }
    }
}
