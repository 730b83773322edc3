import Glibc

/// The clocks of the service. A value of two closures, so that tests can replace them.
///
/// Timers use only `monotonic`: a change of the wall clock does not affect them.
package struct Clock: Sendable {
    /// Nanoseconds from an arbitrary start; never goes back. Any thread.
    package let monotonic: @Sendable () -> Int64
    /// Milliseconds since 1970-01-01 UTC. Any thread.
    package let wall: @Sendable () -> Int64

    package init(monotonic: @escaping @Sendable () -> Int64, wall: @escaping @Sendable () -> Int64) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// Returns this clock with another wall clock.
    /// - Parameter milliseconds: how far it is ahead of this one. Any thread.
    package func ahead(by milliseconds: @escaping @Sendable () -> Int64) -> Clock {
        Clock(monotonic: monotonic, wall: { [wall] in wall() + milliseconds() })
    }

    /// The machine's wall clock: nanoseconds since 1970-01-01 UTC. Any thread.
    package static func wallNanoseconds() -> Int64 { nanoseconds(CLOCK_REALTIME) }

    /// Lets the calling thread sleep.
    /// - Parameter nanoseconds: 1...999_999_999; a signal may end it sooner.
    package static func sleep(nanoseconds: Int64) {
        var time = timespec(tv_sec: 0, tv_nsec: Int(nanoseconds))
        nanosleep(&time, nil)
    }

    /// The machine's clocks.
    package static let system = Clock(
        monotonic: { nanoseconds(CLOCK_MONOTONIC) }, wall: { nanoseconds(CLOCK_REALTIME) / 1_000_000 })
}

private func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
