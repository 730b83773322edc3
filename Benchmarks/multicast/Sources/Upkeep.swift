// What members cost besides being called: memory, adding and removing, and frames in a backtrace.

import Delegation
import Foundation
import Runtime

/// Bytes of memory that the process uses now.
private func resident() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return (pages.flatMap { Int($0[1]) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
}

/// Bytes for each weakly held member: its entry, its place in the collection, and what the runtime keeps for its object. To be asked
/// first, while no memory was freed that could be used again.
func memberBytes(_ count: Int = 100_000) -> Double {
    let listeners = makeListeners(count)
    let before = resident()
    let delegates = MulticastDelegate<any Listener>(delegates: listeners)
    let bytes = Double(resident() - before) / Double(count)
    withExtendedLifetime((listeners, delegates)) {}
    return bytes
}

enum RemovalOrder: String, CaseIterable { case forward, backward, random }

/// Milliseconds of CPU time for removing all of so many.
func removalMilliseconds(_ order: RemovalOrder, _ count: Int = 100_000) -> Double {
    let listeners = makeListeners(count)
    let delegates = MulticastDelegate<any Listener>(delegates: listeners)
    var generator = SystemRandomNumberGenerator()
    let removed: [any Listener] =
        switch order {
        case .forward: listeners
        case .backward: listeners.reversed()
        case .random: listeners.shuffled(using: &generator)
        }
    let began = threadNanoseconds()
    for listener in removed { delegates.removeDelegate(listener) }
    return Double(threadNanoseconds() - began) / 1_000_000
}

/// Frames between a caller and the delegate that it calls.
@MainActor
enum Frames {
    private static var depth = 0

    private static func measure(_ call: () -> Void) -> Int {
        depth = 0
        let outside = current()
        call()
        // Without the closure above, and the delegate's method. (What is inlined has no frame.)
        return max(0, depth - outside - 2)
    }

    @inline(never)
    private static func current() -> Int {
        (try? Backtrace.capture(limit: 1000))?.frames.count(where: { _ in true }) ?? 0
    }

    @MainActor private final class Probe: @MainActor Hearing, @MainActor StateDelegate, @MainActor AuthEventsDelegate {
        @inline(never) func heard() { depth = current() }
        @inline(never) func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { depth = current() }
        @inline(never) func userIsLoggedIn(user: Int, sender: any DelegateSender) { depth = current() }
        func userIsLoggedOut(user: Int?, sender: any DelegateSender) {}
        func userAuthStatusChanged(user: Int?, isLoggedIn: Bool?, sender: any DelegateSender) {}
    }

    /// By what is called.
    static func all() -> [String: Int] {
        let probe = Probe()
        let delegates = MulticastDelegate<any Hearing>(delegates: [probe])
        let (state, events) = (ObservedState(0), AuthEvents<Int>())
        state.addDelegate(probe)
        events.addDelegate(probe)
        return [
            "multicast": measure { delegates.invokeDelegates { $0.heard() } },
            "state": measure { state.value = 1 },
            "auth": measure { events.userIsLoggedIn(user: 1) },
        ]
    }
}

protocol Hearing: AnyObject { func heard() }
