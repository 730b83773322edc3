/// How many attempts a second a receiver takes, found out by experiment: *a cut must pay*. Pure; times are monotonic
/// nanoseconds.
///
/// A receiver that rejects (429, 503) may be too busy, or may reject a share of its requests whatever their rate. So a cut
/// of the rate is a trial: when the share of rejections does not fall by half, the share does not depend on the rate; the
/// cut is undone, and that share is tolerated for a minute.
///
/// Outcomes are judged in windows. Only attempts count that began in the window, so that what began under an earlier limit
/// doesn't blame the present one. How the numbers were found, and what was tried instead: Documentation/delivery.md.
struct RateControl: Equatable {
    private static let second: Int64 = 1_000_000_000
    private static let windowLength = second
    private static let longestWindow = 60 * second
    private static let windowAnswers = 50
    /// While the rate doubles, and at the end of the longest window.
    private static let fewAnswers = 5
    /// So much more rejections than tolerated are too many, or two standard deviations when that is more.
    private static let slack = 0.1
    private static let toleratedFor = 60 * second
    private static let slowGrowth = 0.05
    private static let slowest = 1.0
    /// Beyond it there is no limit.
    private static let fastest = 100_000.0
    private static let afterOutage = 10.0

    /// Attempts a second; infinite: no limit.
    private(set) var limit = Double.infinity
    /// The share of rejections that does not depend on the rate.
    private(set) var tolerated = 0.0
    private var toleratedSince: Int64 = 0
    /// By how much a limit that is used and kept grows at the end of a window.
    private var growth = slowGrowth
    private var trial: Trial?
    private var lastWasBad = false
    /// Accepted a second in windows that were not bad, with a slow decay.
    private var recentlyAccepted = 0.0
    private var window = Window()

    private struct Trial: Equatable {
        let rejectedBefore: Double
        let limitBefore: Double
    }

    private struct Window: Equatable {
        var number: UInt32 = 0
        /// `nil`: no attempt has begun yet.
        var start: Int64?
        var started = 0
        var accepted = 0
        var rejected = 0
    }

    /// What the limit asks for between two starts, in nanoseconds.
    var interval: Int64 { limit.isInfinite ? 0 : Int64(1e9 / limit) }

    /// An attempt starts.
    /// - Returns: the number of its window.
    mutating func started(now: Int64) -> UInt32 {
        if window.start == nil { window.start = now }
        window.started += 1
        return window.number
    }

    /// An attempt was answered.
    /// - Parameter number: of the window in which it began.
    /// - Returns: whether a limit was lifted that kept attempts from starting.
    mutating func answered(isRejection: Bool, window number: UInt32, now: Int64) -> Bool {
        guard number == window.number, let start = window.start else { return false }
        if isRejection { window.rejected += 1 } else { window.accepted += 1 }
        let answers = window.accepted + window.rejected
        let length = now - start
        guard length >= Self.windowLength, answers >= Self.fewAnswers,
            answers >= enoughAnswers || length >= Self.longestWindow
        else { return false }
        return close(seconds: Double(length) / 1e9, now: now)
    }

    /// Answers that a window needs. A limit of a few attempts a second would not see fifty for a minute, and grow for hours.
    private var enoughAnswers: Int {
        guard limit.isFinite, trial == nil else { return Self.windowAnswers }
        if growth >= 1 { return Self.fewAnswers }
        return min(max(Int(2 * limit), Self.fewAnswers), Self.windowAnswers)
    }

    private mutating func close(seconds: Double, now: Int64) -> Bool {
        let closed = window
        defer { window = Window(number: closed.number &+ 1, start: now) }
        let answers = Double(closed.accepted + closed.rejected)
        let rejected = Double(closed.rejected) / answers
        let accepted = Double(closed.accepted) / seconds

        if let trial {
            self.trial = nil
            if rejected - tolerated > (trial.rejectedBefore - tolerated) / 2 {
                tolerated = min(0.95, (trial.rejectedBefore + rejected) / 2)
                toleratedSince = now
                limit = trial.limitBefore
                return true
            }
        } else if tolerated > 0, now - toleratedSince > Self.toleratedFor {
            tolerated = 0
            toleratedSince = now
        }

        let noise = 2 * (max(rejected * (1 - rejected), 0.01) / answers).squareRoot()
        if rejected - tolerated > max(Self.slack, noise) {
            // One bad window may be a burst that the receiver allows for.
            guard lastWasBad else {
                lastWasBad = true
                return false
            }
            lastWasBad = false
            trial = Trial(rejectedBefore: rejected, limitBefore: limit)
            limit = max(Self.slowest, accepted / (1 - tolerated))
            growth = Self.slowGrowth
            return false
        }
        lastWasBad = false
        recentlyAccepted = max(accepted, 0.9 * recentlyAccepted)
        if rejected < tolerated { tolerated -= (tolerated - rejected) / 4 }
        if limit.isFinite, Double(closed.started) >= 0.75 * limit * seconds {
            limit *= 1 + growth
            growth = min(1, growth * 1.25)
            if limit > Self.fastest { limit = .infinity }
        }
        return false
    }

    /// The breaker opened: what a trial would have shown is lost.
    mutating func interrupted() {
        trial = nil
        lastWasBad = false
    }

    /// An outage is over: what has gathered doesn't come all at once. The rate begins at ten a second and doubles; after
    /// less than a minute it begins at a quarter of what it was.
    mutating func recovered(after outage: Int64, now: Int64) {
        let quarter = outage < Self.toleratedFor ? recentlyAccepted / 4 : 0
        limit = max(Self.afterOutage, quarter)
        growth = 1
        interrupted()
        window = Window(number: window.number &+ 1, start: now)
    }
}
