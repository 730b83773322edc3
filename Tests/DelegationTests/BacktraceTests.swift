import Delegation
import Foundation
import Testing

private protocol Hearing: AnyObject { func heard() }

/// Notes how deep in the stack it is called.
@MainActor
private final class Probe: @MainActor Hearing, @MainActor StateDelegate, @MainActor AuthEventsDelegate {
    private(set) var depth = 0

    @inline(never) func heard() { depth = stackDepth() }
    @inline(never) func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { depth = stackDepth() }
    @inline(never) func userIsLoggedIn(user: Int, sender: any DelegateSender) { depth = stackDepth() }
    func userIsLoggedOut(user: Int?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: Int?, isLoggedIn: Bool?, sender: any DelegateSender) {}
}

@inline(never)
private func stackDepth() -> Int { Thread.callStackReturnAddresses.count }

@Suite("A backtrace from a delegate") @MainActor
struct BacktraceTests {
    /// Without optimization; Benchmarks/multicast counts the frames of a release build. (The thread sanitizer adds some.)
    private let limit = 6
    private let probe = Probe()

    /// The frames between the caller and the delegate's method, without the caller's closure.
    private func frames(_ call: () -> Void) -> Int {
        let outside = stackDepth()
        #expect(outside < 100)  // Deep stacks are cut.
        call()
        return probe.depth - outside - 2
    }

    @Test("shows few frames of the library between the caller and the delegate")
    func multicast() {
        let delegates = MulticastDelegate<any Hearing>(delegates: [probe])
        #expect(frames { delegates.invokeDelegates { $0.heard() } } <= limit)
        let shared = SharedMulticastDelegate<any Hearing>()
        shared.addDelegate(probe)
        let probe = probe
        #expect(frames { shared.invokeDelegates { $0.heard() } } <= limit)
        #expect(probe.depth > 0)
    }

    @Test("shows few frames of the library between an assignment or a login and the delegate")
    func states() {
        let (state, events) = (ObservedState(0), AuthEvents<Int>())
        state.addDelegate(probe)
        events.addDelegate(probe)
        #expect(frames { state.value = 1 } <= limit)
        #expect(frames { events.userIsLoggedIn(user: 1) } <= limit)
        #expect(probe.depth > 0)
    }
}
