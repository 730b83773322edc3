package import HeraldRuntime
import Synchronization

/// A clock that a test moves. Both of its times advance together.
package final class ManualClock: Sendable {
    private let nanoseconds = Atomic<Int64>(1_000_000_000)
    private static let wallOffset: Int64 = 1_760_000_000_000

    package init() {}

    /// Nanoseconds, as `Clock.monotonic` tells them.
    package var now: Int64 { nanoseconds.load(ordering: .sequentiallyConsistent) }
    /// Milliseconds since 1970 UTC, as `Clock.wall` tells them.
    package var wall: Int64 { Self.wallOffset + now / 1_000_000 }

    package var clock: Clock { Clock(monotonic: { self.now }, wall: { self.wall }) }

    package func advance(nanoseconds delta: Int64) { nanoseconds.add(delta, ordering: .sequentiallyConsistent) }
    package func advance(seconds: Double) { advance(nanoseconds: Int64(seconds * 1_000_000_000)) }
    package func advance(to time: Int64) { if time > now { advance(nanoseconds: time - now) } }
}

extension Clock {
    /// The machine's clocks. A thread that works again and again reads the monotonic one again and again.
    package static func counting(_ reads: Counter) -> Clock {
        Clock(
            monotonic: {
                reads.next()
                return Clock.system.monotonic()
            }, wall: Clock.system.wall)
    }

    /// The machine's monotonic clock, with a wall clock that stands still: for what waits on sockets and signs with the time.
    package static func stopped(at milliseconds: Int64) -> Clock {
        Clock(monotonic: Clock.system.monotonic, wall: { milliseconds })
    }
}
