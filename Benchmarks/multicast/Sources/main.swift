// Nanoseconds for each delegate that is told, in several ways side by side, and what members cost besides. Prints one JSON object;
// Benchmarks/run reads it.
//
// Every delegate is an object of its own, of one of two classes, and is told an integer and a string through a protocol.

import Delegation
import Foundation
import Synchronization

protocol Listener: AnyObject, Sendable {
    func heard(_ number: Int, _ text: String)
}

/// Rings when it hears of a number below its limit, which none is here: a delegate reads its own memory but doesn't write to it,
/// so that two threads that tell the same delegates disturb each other by nothing but what the multicast does.
/// `@unchecked Sendable`: two threads that ring at once want the same.
final class LowAlarm: Listener, @unchecked Sendable {
    let limit = 0
    var rings = false
    @inline(never) func heard(_ number: Int, _ text: String) { if number < limit { rings = true } }
}

/// Rings when it hears of a number above its limit. `@unchecked Sendable`: see `LowAlarm`.
final class HighAlarm: Listener, @unchecked Sendable {
    let limit = Int.max - 1
    var rings = false
    @inline(never) func heard(_ number: Int, _ text: String) { if number > limit { rings = true } }
}

func makeListeners(_ count: Int) -> [any Listener] {
    (0..<count).map { (number) -> any Listener in
        if number % 2 == 0 { LowAlarm() } else { HighAlarm() }
    }
}

/// One way of telling many.
struct Variant {
    let name: String
    /// Tells all delegates once.
    let round: @Sendable (Int) -> Void
    /// Lives as long as the variant.
    let keep: [AnyObject]
}

// MARK: The ways

/// The obvious implementation.
@inline(never)
func tell(_ listeners: [any Listener], _ number: Int) {
    for listener in listeners { listener.heard(number, "message") }
}

/// The lowest cost of a call of a weakly held object: keeping it alive during the call takes an atomic increment and an
/// atomic decrement of a counter of its own.
final class Counted: Sendable {
    let listener: any Listener
    private let count = Atomic(0)
    init(_ listener: any Listener) { self.listener = listener }

    func heard(_ number: Int, _ text: String) {
        count.add(1, ordering: .relaxed)
        listener.heard(number, text)
        count.subtract(1, ordering: .releasing)
    }
}

@inline(never)
func tell(_ counted: [Counted], _ number: Int) {
    for one in counted { one.heard(number, "message") }
}

/// Measures the cost of a weak reference by itself.
final class WeakBox: Sendable {
    weak let listener: (any Listener)?
    init(_ listener: any Listener) { self.listener = listener }
}

@inline(never)
func tell(_ boxes: [WeakBox], _ number: Int) {
    for box in boxes { box.listener?.heard(number, "message") }
}

/// The implementation of the books: weak wrappers in an array, filtered and cast at each call.
final class BookMulticast<Delegate> {
    private final class Wrapper {
        weak var delegate: AnyObject?
        init(_ delegate: AnyObject) { self.delegate = delegate }
    }

    private var wrappers: [Wrapper] = []

    func addDelegate(_ delegate: Delegate) { wrappers.append(Wrapper(delegate as AnyObject)) }

    @inline(never)
    func invokeDelegates(_ body: (Delegate) -> Void) {
        wrappers = wrappers.filter { $0.delegate != nil }
        for delegate in wrappers.compactMap({ $0.delegate as? Delegate }) { body(delegate) }
    }
}

/// `@unchecked Sendable`: used by one thread at a time.
struct Unshared<Value>: @unchecked Sendable { let value: Value }

@inline(never)
func tell(_ delegates: MulticastDelegate<any Listener>, _ number: Int) {
    delegates.invokeDelegates { $0.heard(number, "message") }
}

@inline(never)
func tell(_ handlers: MulticastDelegate<Handler<Int>>, _ number: Int) { handlers.invokeHandlers(number) }

@MainActor func makeVariants(_ count: Int) -> [Variant] {
    var variants: [Variant] = []

    let plain = makeListeners(count)
    variants.append(Variant(name: "plain", round: { tell(plain, $0) }, keep: plain))

    let weakly = makeListeners(count)
    let weak = MulticastDelegate<any Listener>(delegates: weakly)
    variants.append(Variant(name: "weak", round: { tell(weak, $0) }, keep: weakly))

    let counted = makeListeners(count).map(Counted.init)
    variants.append(Variant(name: "counted", round: { tell(counted, $0) }, keep: []))

    let boxed = makeListeners(count)
    let boxes = boxed.map(WeakBox.init)
    variants.append(Variant(name: "weak_boxes", round: { tell(boxes, $0) }, keep: boxed))

    let strong = MulticastDelegate<any Listener>()
    for listener in makeListeners(count) { strong.addDelegate(listener, holding: .strong) }
    variants.append(Variant(name: "strong", round: { tell(strong, $0) }, keep: []))

    let handlers = MulticastDelegate<Handler<Int>>()
    let tokens = (0..<count).map { number in
        // A closure in place of the protocol's method: it does what that does.
        if number % 2 == 0 {
            let alarm = LowAlarm()
            return handlers.addHandler { if $0 < alarm.limit { alarm.rings = true } }
        } else {
            let alarm = HighAlarm()
            return handlers.addHandler { if $0 > alarm.limit { alarm.rings = true } }
        }
    }
    variants.append(Variant(name: "handlers", round: { tell(handlers, $0) }, keep: tokens))

    variants += stateVariants(count)

    let wrapped = makeListeners(count)
    let book = Unshared(value: BookMulticast<any Listener>())
    for listener in wrapped { book.value.addDelegate(listener) }
    variants.append(
        Variant(
            name: "book", round: { number in book.value.invokeDelegates { $0.heard(number, "message") } },
            keep: wrapped))

    let observing = makeListeners(count)
    let center = Unshared(value: NotificationCenter())
    let name = Notification.Name("message")
    let observers = observing.map { listener in
        center.value.addObserver(forName: name, object: nil, queue: nil) { _ in listener.heard(1, "message") }
    }
    variants.append(
        Variant(
            name: "notification_center", round: { _ in center.value.post(name: name, object: nil) }, keep: observers))
    return variants
}

/// States and logins, on the main actor: as a delegate or a handler there, and as one on any thread.
@MainActor func stateVariants(_ count: Int) -> [Variant] {
    @MainActor final class Screen: @MainActor StateDelegate, @MainActor AuthEventsDelegate {
        var alarms = 0
        @inline(never) func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
            if new < 0 { alarms += 1 }
        }
        @inline(never) func userIsLoggedIn(user: Int, sender: any DelegateSender) { if user < 0 { alarms += 1 } }
        func userIsLoggedOut(user: Int?, sender: any DelegateSender) {}
        func userAuthStatusChanged(user: Int?, isLoggedIn: Bool?, sender: any DelegateSender) {}
    }
    let (handled, main, followed) = (ObservedState(0), ObservedState(0), ObservedState(0))
    let logins = AuthEvents<Int>()
    let listeners = makeListeners(count)
    let screens = (0..<count).map { _ in Screen() }
    let tokens = listeners.map { listener in
        handled.observe { _, new in listener.heard(new, "message") }
    }
    let mainTokens = screens.map { screen in
        main.observe(on: .main) { screen.stateDidChange(from: $0, to: $1, sender: main) }
    }
    for screen in screens {
        followed.addDelegate(screen)
        logins.addDelegate(screen)
    }
    return [
        Variant(name: "state_handlers", round: { handled.value = $0 }, keep: tokens),
        Variant(name: "state_main_handlers", round: { main.value = $0 }, keep: mainTokens),
        Variant(name: "state_main_delegates", round: { followed.value = $0 }, keep: screens),
        Variant(name: "auth_main_delegates", round: { logins.userIsLoggedIn(user: $0) }, keep: screens),
    ]
}

// MARK: Measuring

/// CPU time of this thread, in nanoseconds: hardly depends on what else the machine does.
func threadNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Nanoseconds for each call of a delegate.
func measure(_ round: (Int) -> Void, _ count: Int, calls: Int) -> Double {
    let rounds = max(1, calls / count)
    let began = threadNanoseconds()
    for number in 0..<rounds { round(number) }
    return Double(threadNanoseconds() - began) / Double(rounds * count)
}

/// Measures a round on two threads at once. Returns the time of each thread.
func measureTwo(_ round: @escaping @Sendable (Int) -> Void, _ count: Int, calls: Int) -> Double {
    let times = Mutex<[Double]>([])
    let ready = Atomic(0)
    let threads = (0..<2).map { _ in
        Thread {
            ready.add(1, ordering: .sequentiallyConsistent)
            while ready.load(ordering: .sequentiallyConsistent) < 2 {}
            let time = measure(round, count, calls: calls)
            times.withLock { $0.append(time) }
        }
    }
    for thread in threads { thread.start() }
    while times.withLock({ $0.count }) < 2 { Thread.sleep(forTimeInterval: 0.001) }
    return times.withLock { $0.reduce(0, +) / 2 }
}

let calls = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 2_000_000
/// By variant.
var result: [String: [String: Double]] = ["members": ["bytes": memberBytes()]]
for order in RemovalOrder.allCases { result["members"]?[order.rawValue] = removalMilliseconds(order) }
for (name, frames) in Frames.all() { result["members"]?["frames_\(name)"] = Double(frames) }
for count in [1, 10, 1000] {
    let variants = makeVariants(count)
    for variant in variants {
        _ = measure(variant.round, count, calls: calls / 10)
        result[variant.name, default: [:]]["ns_\(count)"] = measure(variant.round, count, calls: calls)
    }
    for variant in variants where count == 1000 && ["weak", "strong", "handlers"].contains(variant.name) {
        result[variant.name + "_two_threads"] = ["ns_\(count)": measureTwo(variant.round, count, calls: calls)]
    }
    withExtendedLifetime(variants) {}
}
print(String(decoding: try JSONSerialization.data(withJSONObject: result, options: .sortedKeys), as: UTF8.self))
