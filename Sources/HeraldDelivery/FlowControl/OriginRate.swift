import HeraldModel
import Synchronization

/// The rate that one origin (scheme, host and port) accepts from the delegates of one app, whichever loops their lanes
/// belong to. Any thread; times are monotonic nanoseconds.
///
/// The rate control of a lane finds no limit that many lanes share: a lane that slows down alone gains nothing. The
/// common rate is found by the same experiment, over the attempts of all lanes of the origin. The lanes then start their
/// attempts in turn; see `OriginQueues`. An origin with one lane has no common rate.
///
/// Each app has its own: receivers of one app do not limit the deliveries of another.
final class OriginRate: Sendable {
    /// Starts may be early by this time; see `FlowControl`.
    private static let tolerance: Int64 = 10_000_000

    private struct State {
        var rate = RateControl()
        var nextStart: Int64 = 0
    }

    let key: OriginRates.Key
    private let state = Mutex(State())
    fileprivate let lanes = Atomic<Int>(0)
    /// Read without the lock before each start.
    private let isFinite = Atomic<Bool>(false)

    fileprivate init(_ key: OriginRates.Key) { self.key = key }

    private var isShared: Bool { lanes.load(ordering: .relaxed) > 1 }
    /// Whether attempts must wait for their turn.
    var isLimited: Bool { isFinite.load(ordering: .relaxed) && isShared }
    /// Attempts per second; infinite for no limit.
    var limit: Double { isShared ? state.withLock { $0.rate.limit } : .infinity }

    /// The share of rejections lately, if the rate is limited; otherwise 0.
    var background: Double { isLimited ? state.withLock { $0.rate.share } : 0 }

    /// Takes the turn for one attempt.
    /// - Returns: `nil` if the attempt may start; otherwise when there will be a turn.
    func takeTurn(now: Int64) -> Int64? {
        state.withLock { state in
            let interval = state.rate.interval
            let earliest = interval < Self.tolerance ? state.nextStart - Self.tolerance : state.nextStart
            guard now >= earliest else { return earliest }
            state.nextStart = max(state.nextStart, now) + interval
            return nil
        }
    }

    /// An attempt starts.
    /// - Returns: the number of its window; `nil` if the origin has only one lane.
    func started(now: Int64) -> UInt32? {
        guard isShared else { return nil }
        return state.withLock { $0.rate.started(now: now) }
    }

    /// An attempt got a response.
    /// - Parameter window: as returned by `started`.
    func answered(isRejection: Bool, window: UInt32, now: Int64) {
        state.withLock { state in
            if state.rate.answered(isRejection: isRejection, window: window, now: now) {
                state.nextStart = min(state.nextStart, now)
            }
            isFinite.store(state.rate.limit.isFinite, ordering: .relaxed)
        }
    }
}

/// The origins of all lanes of the process. Any thread.
package final class OriginRates: Sendable {
    struct Key: Hashable, Sendable {
        let app: AppKey
        let origin: String
    }

    private let rates = Mutex<[Key: OriginRate]>([:])

    package init() {}

    /// Adds a lane to the origin of its URL.
    func join(_ delegate: WebhookDelegate) -> OriginRate {
        let key = Key(app: delegate.app, origin: Self.origin(of: delegate.settings.url))
        return rates.withLock { rates in
            let rate = rates[key] ?? OriginRate(key)
            rates[key] = rate
            rate.lanes.wrappingAdd(1, ordering: .relaxed)
            return rate
        }
    }

    /// Removes a lane from its origin.
    func leave(_ rate: OriginRate) {
        rates.withLock { rates in
            let (_, left) = rate.lanes.wrappingSubtract(1, ordering: .relaxed)
            if left <= 0 { rates[rate.key] = nil }
        }
    }

    /// The number of origins.
    var count: Int { rates.withLock { $0.count } }

    /// The scheme, host and port of a URL, in lower case and without the default port.
    ///
    /// It runs for each delegate at the start: it searches bytes, which is faster than characters, and copies the result only.
    static func origin(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return url
        }
        let authority = bytes[bytes.index(colon, offsetBy: 3)...].prefix { !"/?#\\".utf8.contains($0) }
        var host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[bytes.index(after: $0)...] } ?? authority
        let scheme = String(url[..<colon]).lowercased()
        let port = (scheme == "https" ? ":443" : ":80").utf8
        if host.suffix(port.count).elementsEqual(port) { host = host.dropLast(port.count) }
        return scheme + "://" + String(Substring(host)).lowercased()
    }
}
