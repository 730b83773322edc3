import Dispatch
import Testing

@testable import Delegation

/// Far more than may wait.
private let many = 25_000

@Suite("Calls that wait for a busy actor", .timeLimit(.minutes(20)))
struct BacklogTests {
    private let record = Record()

    @MainActor
    private final class Label: @MainActor StateDelegate {
        private(set) var changes: [[Int]] = []
        func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { changes.append([old, new]) }
    }

    @Test("about a state are bounded in number: the last one contains all that follow") @MainActor
    func every() async {
        let (counter, label) = (ObservedState(0), Label())
        counter.addDelegate(label)
        blockUntilDone { for number in 1...many { counter.value = number } }
        while label.changes.last?[1] != many { await Task.yield() }
        let limit = Membership.defaultLimit
        #expect(label.changes == (1..<limit).map { [$0 - 1, $0] } + [[limit - 1, many]])
        counter.value = 0
        #expect(label.changes.last == [many, 0])
    }

    @Test("about a state are a single one, if the delegate wants the latest state") @MainActor
    func latest() async {
        actor Statistics: StateActor {
            private(set) var changes: [[Int]] = []
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { changes.append([old, new]) }
            /// Changes the state while this actor is busy.
            func change(_ state: ObservedState<Int>) { for number in 1...many { state.value = number } }
        }
        let (counter, label, statistics) = (ObservedState(0), Label(), Statistics())
        var heard: [[Int]] = []
        let token = counter.observe(on: .main, delivery: .latest) { heard.append([$0, $1]) }
        counter.addDelegate(label, delivery: .latest)
        counter.addDelegate(statistics, delivery: .latest)
        blockUntilDone { for number in 1...many { counter.value = number } }
        while label.changes.isEmpty { await Task.yield() }
        #expect(label.changes == [[0, many]] && heard == [[0, many]])
        while await statistics.changes.last?[1] != many { await Task.yield() }
        let before = await statistics.changes.count
        await statistics.change(counter)
        while await statistics.changes.last?[1] != many { await Task.yield() }
        #expect(await statistics.changes.count <= before + 2)
        // On the main thread, no change waits, once those of the actor have arrived.
        while label.changes.last?[1] != many { await Task.yield() }
        for number in 1...3 { counter.value = number }
        #expect(label.changes.suffix(3) == [[many, 1], [1, 2], [2, 3]])
        withExtendedLifetime((token, label, statistics)) {}
    }

    @Test("about a state begin with the initial one for a new observer, and others miss nothing") @MainActor
    func initial() async {
        let (counter, label) = (ObservedState(0), Label())
        counter.addDelegate(label, delivery: .latest)
        let (heard, token) = (Box<[[Int]]>([]), Box<DelegateToken?>(nil))
        blockUntilDone {
            counter.value = 1
            token.value = counter.observe(on: .main, initial: true, delivery: .latest) { old, new in
                heard.update { $0.append([old, new]) }
            }
            counter.value = 2
            counter.value = 3
        }
        while heard.value.isEmpty { await Task.yield() }
        #expect(label.changes == [[0, 1], [1, 3]] && heard.value == [[1, 3]])
    }

    @Test("are the latest ones, and the dropped ones are counted") @MainActor
    func events() async {
        let delegates = SharedMulticastDelegate<Handler<Int>>(pendingLimit: 100)
        let logins = AuthEvents<Int>(pendingLimit: 100)
        let words = MulticastDelegate<Handler<Int>>()
        var (called, users, handled): ([Int], [Int], [Int]) = ([], [], [])
        let handler = Handler<Int> { number in MainActor.assumeIsolated { called.append(number) } }
        delegates.addDelegate(handler, isolation: MainActor.shared)
        let tokens = [
            logins.observe(on: .main) { if case .loggedIn(let user) = $0 { users.append(user) } },
            words.addHandler(on: .main) { handled.append($0) },
        ]
        blockUntilDone {
            for number in 1...many {
                delegates.invokeDelegates { $0(number) }
                logins.userIsLoggedIn(user: number)
                words.invokeHandlers(number)
            }
        }
        #expect(delegates.droppedCount == many - 100 && logins.droppedCount == many - 100)
        while [called.last, users.last, handled.last] != [many, many, many] { await Task.yield() }
        let latest = Array((many - 99)...many)
        #expect(called == latest && users == latest && handled.count == Membership.defaultLimit)
        withExtendedLifetime((tokens, handler)) {}
    }

    @Test("are bounded too if a thread is busy with the delegates without an actor")
    func thread() async throws {
        let counter = ObservedState(0)
        let heard = Box<[[Int]]>([])
        let (isBusy, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let token = counter.observe { old, new in
            heard.update { $0.append([old, new]) }
            if new == 1 {
                isBusy.signal()
                mayContinue.wait()
            }
        }
        try await onThread {
            blockUntilDoneWithTwo(
                { counter.value = 1 },
                {
                    isBusy.wait()
                    for number in 2...many { counter.value = number }
                    mayContinue.signal()
                })
        }
        while heard.value.last?[1] != many { await Task.yield() }
        #expect(heard.value.count == 1 + Membership.defaultLimit)
        #expect(zip(heard.value, heard.value.dropFirst()).allSatisfy { $0[1] == $1[0] })
        withExtendedLifetime(token) {}
    }

    @Test("that are dropped or merged release what they hold without a lock") @MainActor
    func release() async {
        /// Uses the collection when it is released.
        final class Reentrant: Sendable {
            let act: @Sendable () -> Void
            init(_ act: @escaping @Sendable () -> Void) { self.act = act }
            deinit { act() }
        }
        let delegates = SharedMulticastDelegate<any Listener>(pendingLimit: 1)
        let scribe = Scribe("a", record)
        delegates.addDelegate(scribe, isolation: MainActor.shared)
        let state = ObservedState<Reentrant?>(nil)
        let token = state.observe(on: .main, delivery: .latest) { _, _ in }
        blockUntilDone {
            for _ in 0..<10 {
                let held = Reentrant { _ = delegates.count }
                delegates.invokeDelegates {
                    $0.hear("x")
                    withExtendedLifetime(held) {}
                }
                state.value = Reentrant { [weak state] in _ = state?.count }
            }
            state.value = nil
        }
        while record.lines.isEmpty { await Task.yield() }
        #expect(record.lines == ["a x"] && delegates.droppedCount == 9)
        withExtendedLifetime((token, scribe)) {}
    }
}

/// Runs both bodies on threads of their own at the same time.
private func blockUntilDoneWithTwo(_ first: @escaping @Sendable () -> Void, _ second: @escaping @Sendable () -> Void) {
    DispatchQueue.concurrentPerform(iterations: 2) { number in blockUntilDone(number == 0 ? first : second) }
}
