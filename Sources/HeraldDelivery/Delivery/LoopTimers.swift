import HeraldModel
import HeraldRuntime

/// The current time of a turn of a delivery loop, and the loop's timers. Confined to one thread.
final class LoopTimers {
    enum Timer {
        case retry(Retry)
        /// The lane may start an attempt.
        case wake(DelegateKey)
        case verify(DelegateKey)
        case leaseEnds(DelegateKey)
        /// Missed deliveries of a delegate may be announced again.
        case tellMissed(DelegateKey)
        /// A lane may start an attempt at an origin.
        case originTurn(OriginRate)
        case readAgain(after: LogPosition)
        /// Rows of a delegate may be loaded from the store again.
        case loadRows(DelegateKey)
        case runMaintenance

        /// The delegate that the timer belongs to.
        fileprivate var delegate: DelegateKey? {
            switch self {
            case .retry(let retry): retry.delegate
            case .wake(let key), .verify(let key), .leaseEnds(let key), .tellMissed(let key),
                .loadRows(let key):
                key
            case .originTurn, .readAgain, .runMaintenance: nil
            }
        }
    }

    /// Delay after a failed read of the store, and after an attempt that could not be made, in nanoseconds.
    static let pause: Int64 = 1_000_000_000

    private let clock: Clock
    private var queue = TimerQueue<Timer>()
    /// The ends of the waits of publishers.
    private var watches = TimerQueue<DeliveryWatch>()
    /// Watches that are over are removed when there are so many: their number doubles between two removals, so that a watch
    /// costs the same however many requests wait.
    private var maxWatches = 1_024
    /// Approximate number of timers that belong to removed lanes.
    private var dead = 0
    /// Monotonic nanoseconds, read once per turn and per outcome.
    private(set) var now: Int64
    /// Offset of the wall clock from `now` in this turn, in milliseconds.
    private(set) var wallOffset: Int64

    init(_ clock: Clock) {
        self.clock = clock
        now = clock.monotonic()
        wallOffset = clock.wall() - now / 1_000_000
    }

    /// Milliseconds since 1970 UTC, at `now`.
    var wall: Int64 { now / 1_000_000 + wallOffset }
    /// The current time of the wall clock, in milliseconds since 1970 UTC.
    var exactWall: Int64 { clock.wall() }
    /// The current time, in monotonic nanoseconds.
    var exactNow: Int64 { clock.monotonic() }
    var count: Int { queue.count + watches.count }
    var nextDue: Int64? { Self.earliest(queue.nextDue, watches.nextDue) }

    func readClock() { now = clock.monotonic() }

    func beginTurn() {
        readClock()
        wallOffset = clock.wall() - now / 1_000_000
    }

    static func earliest(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    func insert(_ timer: Timer, due: Int64) { queue.insert(timer, due: due) }

    /// - Parameters:
    ///   - time: the stored time of the retry.
    ///   - longest: milliseconds. If the clock has jumped, the retry must not be postponed beyond them.
    func insert(_ retry: Retry, dueAt time: Int64, longest: Int64) {
        let delay = min(max(0, time - exactWall), longest)
        insert(.retry(retry), due: now + delay * 1_000_000)
    }

    func popDue() -> Timer? { queue.popDue(now: now) }

    // MARK: Waits of publishers

    /// - Parameter forget: called with each watch that is removed because it is over.
    func insert(_ watch: DeliveryWatch, due: Int64, forget: (DeliveryWatch) -> Void) {
        watches.insert(watch, due: due)
        guard watches.count > maxWatches else { return }
        watches.removeAll { watch in
            guard watch.isOver else { return false }
            forget(watch)
            return true
        }
        maxWatches = max(1_024, 2 * watches.count)
    }

    func popExpired() -> DeliveryWatch? { watches.popDue(now: now) }

    /// Removes all of them.
    func takeWatches() -> [DeliveryWatch] {
        let all = watches.payloads
        watches = TimerQueue()
        return all
    }

    // MARK: Removed lanes

    /// Removes the timers of all lanes of these shards.
    func forget(_ shards: Shards) { queue.removeAll { timer in timer.delegate.map { shards.contains($0) } ?? false } }

    /// Invalidates the timers of a removed lane, or of rows that have ended, have another plan or are only in the store.
    /// - Parameters:
    ///   - count: their approximate number.
    ///   - lanes: the lanes that are left.
    func forget(_ count: Int, _ lanes: LaneTable) {
        dead += count
        guard dead > 1024, dead > queue.count / 2 else { return }
        dead = 0
        queue.removeAll { timer in
            if case .retry(let retry) = timer { return !(lanes[retry.delegate]?.isPlanned(retry) ?? false) }
            return timer.delegate.map { !lanes.contains($0) } ?? false
        }
    }
}
