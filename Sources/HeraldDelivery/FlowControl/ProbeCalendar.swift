import HeraldModel

/// The probes of one loop, spread over time. Pure; times are monotonic nanoseconds.
///
/// A second has room for as many probes again that are the only ones of their app: an app with many lanes whose breakers open
/// together does not postpone the first probes of others. A thousand apps with one lane each make at most twice as many probes.
struct ProbeCalendar {
    private static let second: Int64 = 1_000_000_000
    private static let fewest = 10
    /// With pauses of up to a minute, half of it on average, the probes of this many lanes make one per second.
    private static let lanesPerProbe = 30

    private struct Place: Hashable {
        let second: Int64
        let app: AppKey
    }

    /// Lanes of the loop with an open breaker.
    var openLanes = 0
    /// The number of planned probes, by second.
    private var planned: [Int64: Int] = [:]
    /// The number of them of each app.
    private var ofApps: [Place: Int] = [:]
    /// The number of seconds that are kept before past ones are removed.
    private var cleanAt = 256

    /// The first free time from `time` on: the same moment of a later second if the requested one is full. No probe is
    /// postponed by more than the longest pause, even if no second until then is free.
    mutating func reserve(_ time: Int64, of app: AppKey, now: Int64) -> Int64 {
        if planned.count >= cleanAt {
            planned = planned.filter { $0.key >= now / Self.second }
            ofApps = ofApps.filter { $0.key.second >= now / Self.second }
            cleanAt = max(256, 2 * planned.count)
        }
        let limit = max(Self.fewest, openLanes / Self.lanesPerProbe)
        let latest = time + Breaker.longestPause
        var time = time
        while time < latest {
            let count = planned[time / Self.second, default: 0]
            if count < limit || count < 2 * limit && ofApps[Self.place(time, app)] == nil { break }
            time += Self.second
        }
        planned[time / Self.second, default: 0] += 1
        ofApps[Self.place(time, app), default: 0] += 1
        return time
    }

    /// Gives back a reserved time whose probe will not be made. A time that has passed stays counted: its probe may have
    /// been made.
    mutating func release(_ time: Int64, of app: AppKey, now: Int64) {
        let place = Self.place(time, app)
        guard time > now, let count = planned[place.second], let own = ofApps[place] else { return }
        planned[place.second] = count > 1 ? count - 1 : nil
        ofApps[place] = own > 1 ? own - 1 : nil
    }

    private static func place(_ time: Int64, _ app: AppKey) -> Place { Place(second: time / second, app: app) }
}
