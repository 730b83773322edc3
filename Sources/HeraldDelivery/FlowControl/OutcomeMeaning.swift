import HeraldModel

/// The meaning of an attempt's outcome for its receiver. Used by flow control, retries, health and metrics.
package enum OutcomeMeaning: String, CaseIterable, Sendable {
    /// 2xx.
    case success
    /// 429 or 503: the receiver is available and accepts no more at present.
    case rejection
    /// Another response, or a connection that broke before one. The cause may be the event, so it does not affect the
    /// rate.
    case failure
    /// No connection. The cause is not the event.
    case unreachable
    /// No response within the timeout: the request occupied a slot all that time.
    case hang

    /// Whether the receiver has responded or broken the connection, so that the outcome says something about the rate.
    var isAnswer: Bool { self != .unreachable && self != .hang }
}

extension CallbackOutcome {
    var meaning: OutcomeMeaning {
        switch verdict {
        case .answered(200...299, _): .success
        case .answered(429, _), .answered(503, _): .rejection
        case .answered: .failure
        case .failed(.timeout, _): .hang
        case .failed(.protocolError, _), .failed(.responseRefused, _), .failed(.requestNotMade, _): .failure
        case .failed: .unreachable
        }
    }

    /// 410: the receiver's endpoint has been removed permanently.
    var isGone: Bool {
        if case .answered(410, _) = verdict { return true }
        return false
    }

    /// The seconds of `Retry-After` in a response that is no success.
    var retryAfter: Int? {
        if !isSuccess, case .answered(_, let seconds) = verdict { return seconds }
        return nil
    }

    /// A timeout, or a gateway's timeout: the same delivery is not retried within a minute.
    var needsMinimumDelay: Bool {
        switch verdict {
        case .failed(.timeout, _), .answered(502, _), .answered(504, _): true
        default: false
        }
    }
}
