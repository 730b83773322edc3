/// How many attempts per second a receiver accepts, found by experiment: *a cut must pay*. Pure; times are monotonic
/// nanoseconds.
///
/// A receiver that rejects (429, 503) may be overloaded, or may reject a share of its requests at any rate. So a cut of
/// the rate is a trial: if the share of rejections does not fall by half, it does not depend on the rate; the cut is
/// undone, and that share is tolerated for a minute.
///
/// Outcomes are evaluated in windows. Only attempts that began in the window count, so that those under an earlier
/// limit do not affect the current one. Documentation/delivery.md has the rules, Documentation/measurements/receivers.md
/// their measured effect.
struct RateControl: Equatable {
    private static let second: Int64 = 1_000_000_000
    private static let windowLength = second
    private static let longestWindow = 60 * second
    private static let windowAnswers: UInt32 = 50
    /// While the rate doubles, and at the end of the longest window.
    private static let fewAnswers: UInt32 = 5
    /// Rejections beyond the tolerated share by this much are too many, or by two standard deviations if that is more.
    private static let slack = 0.1
    private static let toleratedFor = 60 * second
    private static let slowGrowth = 0.05
    private static let slowest = 1.0
    /// Above this rate there is no limit.
    private static let fastest = 100_000.0
    private static let afterOutage = 10.0

    /// Attempts per second; infinite for no limit.
    private(set) var limit = Double.infinity
    /// The share of rejections that does not depend on the rate.
    private(set) var tolerated = 0.0
    /// The share of rejections lately: the highest of recent windows, with a decay.
    private(set) var share = 0.0
    private var toleratedSince: Int64 = 0
    /// The growth factor of a limit that is used and kept, at the end of a window.
    private var growth = slowGrowth
    private var trial: Trial?
    private var lastWasBad = false
    /// How many requests may be open, if the receiver gets slower when more are.
    private(set) var open = OpenLimit()
    /// Accepted attempts per second in windows that were not bad, with a slow decay.
    private var recentlyAccepted = 0.0
    private var window = Window()

    private struct Trial: Equatable {
        let rejectedBefore: Double
        let limitBefore: Double
    }

    /// Small, since each lane has one.
    private struct Window: Equatable {
        /// `nil` if no attempt has begun.
        var start: Int64?
        var number: UInt32 = 0
        var started: UInt32 = 0
        var accepted: UInt32 = 0
        var rejected: UInt32 = 0
        /// The duration of the accepted attempts, in microseconds.
        var duration: Int64 = 0
    }

    /// The interval between two starts under the limit, in nanoseconds.
    var interval: Int64 { limit.isInfinite ? 0 : Int64(1e9 / limit) }

    /// An attempt starts.
    /// - Returns: the number of its window.
    mutating func started(now: Int64) -> UInt32 {
        if window.start == nil { window.start = now }
        window.started += 1
        return window.number
    }

    /// An attempt got a response.
    /// - Parameters:
    ///   - number: the window in which it began.
    ///   - duration: how long it took, in nanoseconds.
    ///   - background: the share of rejections at a limited origin, which the lane's own rate does not affect.
    /// - Returns: whether a limit was lifted that prevented attempts from starting.
    mutating func answered(
        isRejection: Bool, window number: UInt32, duration: Int64 = 0, background: Double = 0, now: Int64
    ) -> Bool {
        guard number == window.number, let start = window.start else { return false }
        if isRejection {
            window.rejected += 1
        } else {
            window.accepted += 1
            window.duration += max(0, duration) / 1_000
        }
        let answers = window.accepted + window.rejected
        let length = now - start
        guard length >= Self.windowLength, answers >= Self.fewAnswers,
            answers >= enoughAnswers || length >= Self.longestWindow
        else { return false }
        return close(seconds: Double(length) / 1e9, background: background, now: now)
    }

    /// The number of responses that a window needs. With a limit of a few attempts per second, fifty would take a
    /// minute, and growth would take hours.
    private var enoughAnswers: UInt32 {
        if open.isTrial { return OpenLimit.trialAnswers }
        guard limit.isFinite, trial == nil else { return Self.windowAnswers }
        if growth >= 1 { return Self.fewAnswers }
        return UInt32(min(max(2 * limit, Double(Self.fewAnswers)), Double(Self.windowAnswers)))
    }

    private mutating func close(seconds: Double, background: Double, now: Int64) -> Bool {
        let closed = window
        defer { window = Window(start: now, number: closed.number &+ 1) }
        let answers = Double(closed.accepted + closed.rejected)
        let rejected = Double(closed.rejected) / answers
        let accepted = Double(closed.accepted) / seconds
        share = max(rejected, 0.9 * share)

        if trial != nil {
            if end(rejected: rejected, now: now) { return true }
        } else if tolerated > 0, now - toleratedSince > Self.toleratedFor {
            tolerated = 0
            toleratedSince = now
        }

        let noise = 2 * (max(rejected * (1 - rejected), 0.01) / answers).squareRoot()
        let isBad = rejected - tolerated - background > max(Self.slack, noise)
        let result = OpenLimit.Window(
            accepted: accepted, excess: rejected - tolerated, isBad: isBad,
            open: Double(closed.duration) / 1e6 / seconds)
        switch open.closed(result, now: now) {
        case .undone:
            lastWasBad = false
            return true
        case .limited:
            lastWasBad = false
            return false
        case .none: break
        }
        if isBad {
            cut(result, rejected: rejected, now: now)
        } else {
            // At a limited origin the lane waits for its turn: a limit of its own is soon lifted.
            if background > 0 { growth = 1 }
            grow(closed, rejected: rejected, accepted: accepted, seconds: seconds)
        }
        return false
    }

    /// Ends a trial of a lower rate.
    /// - Returns: whether the cut is undone.
    private mutating func end(rejected: Double, now: Int64) -> Bool {
        guard let trial else { return false }
        self.trial = nil
        guard rejected - tolerated > (trial.rejectedBefore - tolerated) / 2 else { return false }
        tolerated = min(0.95, (trial.rejectedBefore + rejected) / 2)
        toleratedSince = now
        limit = trial.limitBefore
        return true
    }

    /// Called after a bad window. Tries fewer open requests, or a lower rate.
    private mutating func cut(_ window: OpenLimit.Window, rejected: Double, now: Int64) {
        // One bad window may be a burst that the receiver tolerates.
        guard lastWasBad else {
            lastWasBad = true
            return
        }
        lastWasBad = false
        growth = Self.slowGrowth
        if open.isOverloaded(window, now: now) {
            // The open requests limit the rate.
            limit = .infinity
            return
        }
        trial = Trial(rejectedBefore: rejected, limitBefore: limit)
        limit = max(Self.slowest, window.accepted / (1 - tolerated))
    }

    private mutating func grow(_ closed: Window, rejected: Double, accepted: Double, seconds: Double) {
        lastWasBad = false
        recentlyAccepted = max(accepted, 0.9 * recentlyAccepted)
        if rejected < tolerated { tolerated -= (tolerated - rejected) / 4 }
        if limit.isFinite, Double(closed.started) >= 0.75 * limit * seconds {
            limit *= 1 + growth
            growth = min(1, growth * 1.25)
            if limit > Self.fastest { limit = .infinity }
        }
    }

    /// The breaker opened: the trial has no result.
    mutating func interrupted() {
        trial = nil
        lastWasBad = false
        open.interrupted()
    }

    /// An outage is over: the backlog is not sent all at once. The rate starts at ten per second and doubles; after
    /// less than a minute it starts at a quarter of the previous rate.
    mutating func recovered(after outage: Int64, now: Int64) {
        let quarter = outage < Self.toleratedFor ? recentlyAccepted / 4 : 0
        limit = max(Self.afterOutage, quarter)
        growth = 1
        interrupted()
        window = Window(start: now, number: window.number &+ 1)
    }
}
