import HeraldRuntime
import Synchronization

/// The wall clock for ages: a step of the clock makes nothing older.
///
/// Each call compares the wall clock with the monotonic clock. What the wall clock has gained in a step counts for an age only
/// after that age has passed on the monotonic clock: until then, something that was stored before the step is as old as the
/// monotonic clock says. So a step removes nothing, whether it lasts or is taken back. A clock that is set back only makes
/// everything younger. At a start, a long pause may be a clock that is wrong until it is synchronized: for some minutes nothing
/// becomes older. Any thread.
final class AgeClock: Sendable {
    private struct State {
        /// As of the last call.
        var wall, monotonic: Int64
        /// The steps so far: when each was seen, in monotonic nanoseconds, and its length in milliseconds.
        var steps: [(seen: Int64, length: Int64)] = []
    }

    /// The tolerated difference of the clocks from one call to the next, in milliseconds: a machine's clock is also adjusted slowly.
    private static let tolerance: Int64 = 10_000
    /// The maximum number of steps that are kept. Beyond it, the two oldest are one.
    private static let maxSteps = 64
    /// The time since the last mark that is doubted after a start, in milliseconds: 30 days.
    private static let longPause: Int64 = 30 * 86_400_000
    /// How long after a start, in nanoseconds.
    private static let doubt: Int64 = 600_000_000_000

    private let clock: Clock
    private let lastMark: Int64?
    private let doubtEnds: Int64
    private let state: Mutex<State>

    /// - Parameter lastMark: the time of the newest mark of the log at the start, in milliseconds since 1970 UTC.
    init(_ clock: Clock, lastMark: Int64? = nil) {
        self.clock = clock
        self.lastMark = lastMark
        let now = clock.monotonic()
        doubtEnds = now + Self.doubt
        state = Mutex(State(wall: clock.wall(), monotonic: now))
    }

    /// The wall-clock time from which this age counts, in milliseconds since 1970 UTC: what is older was stored before it,
    /// less the age.
    /// - Parameter age: milliseconds, ≥ 0.
    func now(forAge age: Int64) -> Int64 {
        state.withLock { state in
            let (wall, monotonic) = (clock.wall(), clock.monotonic())
            let gain = (wall - state.wall) - (monotonic - state.monotonic) / 1_000_000
            if abs(gain) > Self.tolerance { state.steps.append((monotonic, gain)) }
            if state.steps.count > Self.maxSteps {
                let oldest = state.steps.removeFirst()
                state.steps[0].length += oldest.length
            }
            (state.wall, state.monotonic) = (wall, monotonic)
            let recent = state.steps.filter { (monotonic - $0.seen) / 1_000_000 < age }
            let now = wall - max(0, recent.reduce(0) { $0 + $1.length })
            if let lastMark, monotonic < doubtEnds, now - lastMark > Self.longPause { return lastMark }
            return now
        }
    }
}
