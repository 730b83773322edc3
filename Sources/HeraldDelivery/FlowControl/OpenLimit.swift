/// How many requests a receiver processes well at once, found by experiment: *fewer must not cost*. Pure; times are
/// monotonic nanoseconds.
///
/// A receiver that queues what it accepts becomes no faster when more requests are open, and often slower. So when it
/// rejects and many requests are open, a trial limits them to a quarter. The trial pays if the receiver accepts about as
/// many per second as before, or more. Then half as many are tried, until fewer would cost. From time to time twice as
/// many are tried.
///
/// A limit of the rate, and not of the queue, passes no trial: there the time to respond does not depend on the number
/// of open requests, and a quarter of them makes a quarter of the rate.
struct OpenLimit: Equatable {
    /// The results of a window.
    struct Window: Equatable {
        /// Accepted attempts per second.
        let accepted: Double
        /// Rejections beyond the tolerated share.
        let excess: Double
        /// Rejections are too many.
        let isBad: Bool
        /// The mean number of requests that were open and accepted.
        let open: Double
    }

    enum Result {
        case none
        /// A trial has begun, or has paid.
        case limited
        /// A trial has not paid.
        case undone
    }

    /// Responses in the window of a trial: twice as many as in others, since the two rates are compared.
    static let trialAnswers: UInt32 = 100
    /// With fewer requests open, the receiver has no queue.
    private static let fewest = 4.0
    private static let most = 256.0
    /// Until the next trial. Doubles while trials of more do not pay.
    private static let firstPause: Int64 = 60_000_000_000
    private static let maxDoublings: UInt8 = 4

    private struct Trial: Equatable {
        let limitBefore: UInt16?
        let isDown: Bool
        let accepted: Float
        let excess: Float
    }

    private var limit: UInt16?
    private var trial: Trial?
    private var nextTrial: Int64 = 0
    private var doublings: UInt8 = 0

    /// `nil` if there is no limit.
    var requests: Int? { limit.map { Int($0) } }
    var isTrial: Bool { trial != nil }

    /// Begins the first trial, instead of a cut of the rate.
    mutating func isOverloaded(_ window: Window, now: Int64) -> Bool {
        guard limit == nil, now >= nextTrial, window.open >= Self.fewest else { return false }
        begin(UInt16(min(max(1, (window.open / 4).rounded()), Self.most)), window)
        return true
    }

    /// Called at the end of each window.
    mutating func closed(_ window: Window, now: Int64) -> Result {
        if let trial { return end(trial, window, now: now) }
        guard let limit, now >= nextTrial, !window.isBad, window.open >= 0.6 * Double(limit) else { return .none }
        if Double(limit) * 2 >= Self.most {
            self.limit = nil
            return .undone
        }
        begin(limit * 2, window)
        return .limited
    }

    private mutating func end(_ trial: Trial, _ window: Window, now: Int64) -> Result {
        self.trial = nil
        let ratio = window.accepted / max(Double(trial.accepted), 0.001)
        let isFewer = window.excess <= max(Double(trial.excess) / 2, 0.02)
        // The first comparison is with a window in which few were accepted, the others are with trials.
        let pays =
            trial.isDown ? isFewer && ratio >= (trial.limitBefore == nil ? 0.7 : 0.9) : !window.isBad && ratio >= 1.1
        guard pays else {
            limit = trial.limitBefore
            nextTrial = now + Self.firstPause << Int64(doublings)
            doublings = min(doublings + 1, Self.maxDoublings)
            return .undone
        }
        doublings = 0
        nextTrial = now
        if trial.isDown, let limit, limit > 1, window.open >= 0.6 * Double(limit) {
            begin(limit / 2, window)
        } else if trial.isDown {
            nextTrial = now + Self.firstPause
        }
        return .limited
    }

    private mutating func begin(_ requests: UInt16, _ window: Window) {
        trial = Trial(
            limitBefore: limit, isDown: limit.map { requests < $0 } ?? true, accepted: Float(window.accepted),
            excess: Float(window.excess))
        limit = requests
    }

    /// An outage: the trial has no result.
    mutating func interrupted() {
        if let trial { limit = trial.limitBefore }
        trial = nil
    }
}
