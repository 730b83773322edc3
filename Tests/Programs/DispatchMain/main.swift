import Delegation
import Dispatch
import Foundation

// `dispatchMain` ends the main thread: from then on, any thread of Dispatch runs the main actor. States and logins are changed
// by many queues and by the main actor in turn. The program fails if a delegate of the main actor is called elsewhere, or if the
// main actor's own change is not notified before it returns.

let queues = 8
let calls = 500

final class Screen: @MainActor StateDelegate, @MainActor AuthEventsDelegate {
    var last = 0
    var count = 0

    func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
        dispatchPrecondition(condition: .onQueue(.main))
        MainActor.preconditionIsolated()
        last = new
        finishIfComplete()
    }

    func userIsLoggedIn(user: Int, sender: any DelegateSender) {
        MainActor.preconditionIsolated()
        finishIfComplete()
    }

    func userIsLoggedOut(user: Int?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: Int?, isLoggedIn: Bool?, sender: any DelegateSender) {}

    private func finishIfComplete() {
        count += 1
        guard count == 3 * queues * calls else { return }
        print("all calls were made on the main actor")
        DispatchQueue.main.async { exit(0) }
    }
}

let state = ObservedState(0)
let logins = AuthEvents<Int>()
let screen = Screen()
state.addDelegate(screen)
logins.addDelegate(screen)

/// Changes the state on the queue and on the main actor in turn.
nonisolated func change(on queue: DispatchQueue, _ count: Int) {
    queue.async {
        state.update { $0 += 1 }
        logins.userIsLoggedIn(user: count)
        DispatchQueue.main.async {
            let new = state.update { value in
                value += 1
                return value
            }
            // Another queue may have changed it since.
            precondition(screen.last >= new, "the main actor's own change is not notified before it returns")
            if count > 1 { change(on: queue, count - 1) }
        }
    }
}

for number in 0..<queues { change(on: DispatchQueue(label: "\(number)"), calls) }
dispatchMain()
