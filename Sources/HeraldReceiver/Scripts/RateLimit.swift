/// The rate limit of a path. A value, filled by directives.
struct RateLimit: Sendable {
    /// `nil` for no limit.
    var perSecond: Double?
    /// The burst size of a bucket.
    var burst = 2.0
    /// Requests are counted in windows of this many seconds; `nil` for a token bucket.
    var window: Double?
    /// The rate grows from a tenth to its full value in this many seconds.
    var slowStart: Double?
    /// Whether a refusal contains Retry-After.
    var isAnnounced = false
}

/// Applies a `RateLimit`. All times are nanoseconds of one clock.
struct RateLimiter: Sendable {
    enum Decision: Equatable {
        case admitted
        case refused(retryAfterSeconds: Int)
    }

    private let limit: RateLimit
    private let perSecond: Double
    private let began: Int64
    private var tokens: Double
    private var filledAt: Int64
    private var window = 0
    private var usedInWindow = 0.0

    /// - Parameter now: the time of the first request, when windows and a slow start begin.
    /// - Returns: `nil` without a limit.
    init?(_ limit: RateLimit, now: Int64) {
        guard let perSecond = limit.perSecond else { return nil }
        self.limit = limit
        self.perSecond = perSecond
        began = now
        tokens = limit.burst
        filledAt = now
    }

    mutating func decide(at now: Int64) -> Decision {
        let elapsed = Self.seconds(now - began)
        var rate = perSecond
        if let slowStart = limit.slowStart { rate *= min(1, 0.1 + 0.9 * elapsed / slowStart) }
        guard let length = limit.window else { return decideByBucket(at: now, rate) }
        let current = Int(elapsed / length)
        if current != window {
            window = current
            usedInWindow = 0
        }
        if usedInWindow + 1 <= rate * length {
            usedInWindow += 1
            return .admitted
        }
        return refusal(after: Double(current + 1) * length - elapsed)
    }

    private mutating func decideByBucket(at now: Int64, _ rate: Double) -> Decision {
        tokens = min(limit.burst, tokens + rate * Self.seconds(now - filledAt))
        filledAt = now
        if tokens >= 1 {
            tokens -= 1
            return .admitted
        }
        return refusal(after: (1 - tokens) / rate)
    }

    private func refusal(after seconds: Double) -> Decision {
        .refused(retryAfterSeconds: max(1, Int(seconds.rounded(.up))))
    }

    private static func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }
}
