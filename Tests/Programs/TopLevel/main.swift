import Delegation
import Dispatch
import Foundation

// Code at the top level of `main.swift` is on the main actor. Closures without `on:` are notified also while the main thread is
// blocked, as in many command-line tools: otherwise this program would not end.

let state = ObservedState(0)
let logins = AuthEvents<Int>()
let words = MulticastDelegate<Handler<Int>>()
let notified = DispatchSemaphore(value: 0)

let tokens = [
    state.observe { _, _ in notified.signal() },
    logins.observe { _ in notified.signal() },
    words.addHandler { _ in notified.signal() },
]

final class Listener: StateDelegate, AuthEventsDelegate, Sendable {
    func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { notified.signal() }
    func userIsLoggedIn(user: Int, sender: any DelegateSender) { notified.signal() }
    func userIsLoggedOut(user: Int?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: Int?, isLoggedIn: Bool?, sender: any DelegateSender) {}
}

// A delegate belongs to the actor that adds it, unless `isolation: nil` is given.
let listener = Listener()
state.addDelegate(listener, isolation: nil)
logins.addDelegate(listener, isolation: nil)

Thread {
    state.value = 1
    logins.userIsLoggedIn(user: 1)
    words.invokeHandlers(1)
}.start()
for _ in 0..<5 { notified.wait() }
print("all were notified while the main thread waited")
