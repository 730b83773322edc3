import HeraldRuntime
import Synchronization

/// A clock that a test moves. Both of its times advance together.
final class ManualClock: Sendable {
    private let nanoseconds = Atomic<Int64>(1_000_000_000)
    private let wallOffset: Int64 = 1_760_000_000_000

    var now: Int64 { nanoseconds.load(ordering: .sequentiallyConsistent) }
    var wall: Int64 { wallOffset + now / 1_000_000 }

    var clock: Clock { Clock(monotonic: { self.now }, wall: { self.wall }) }

    func advance(nanoseconds delta: Int64) { nanoseconds.add(delta, ordering: .sequentiallyConsistent) }
    func advance(seconds: Double) { advance(nanoseconds: Int64(seconds * 1_000_000_000)) }
    func advance(to time: Int64) { if time > now { advance(nanoseconds: time - now) } }
}
