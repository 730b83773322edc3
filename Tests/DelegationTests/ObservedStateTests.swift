import Observation
import Testing

@testable import Delegation

private enum Retrieval: CustomStringConvertible {
    case running, success, failure

    var description: String {
        switch self {
        case .running: "running"
        case .success: "success"
        case .failure: "failure"
        }
    }
}

private enum AppState: Equatable {
    case idle
    case dataRetrieval(Retrieval)
    case signedIn(user: String)
}

private final class Observer: StateDelegate, Sendable {
    let name: String
    let record: Record
    let reaction: @Sendable (AppState, AppState) -> Void

    init(
        _ name: String, _ record: Record, reaction: @escaping @Sendable (AppState, AppState) -> Void = { _, _ in }
    ) {
        self.name = name
        self.record = record
        self.reaction = reaction
    }

    func stateDidChange(from old: AppState, to new: AppState, sender: any DelegateSender) {
        record.add("\(name): \(old) → \(new)")
        reaction(old, new)
    }
}

/// States from 0 up, for tests that count.
private final class Chain: StateDelegate, Sendable {
    let heard = Box<[(old: Int, new: Int)]>([])
    func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
        heard.update { $0.append((old, new)) }
    }

    /// Whether each change begins where the one before has ended.
    var isComplete: Bool { zip(heard.value, heard.value.dropFirst()).allSatisfy { $0.new == $1.old } }
}

@Suite("An observed state", .timeLimit(.minutes(20)))
struct ObservedStateTests {
    private let record = Record()
    private let state = ObservedState(AppState.idle)

    @Test("calls every delegate with the old and the new value on assignment, not at the start")
    func assignment() {
        let observers = ["a", "b"].map { Observer($0, record) }
        for observer in observers { #expect(state.addDelegate(observer)) }
        #expect(!state.addDelegate(observers[0]))
        #expect(record.lines.isEmpty)
        state.value = .dataRetrieval(.running)
        state.value = .dataRetrieval(.running)  // as `didSet`, also when nothing changes
        #expect(state.removeDelegate(observers[1]))
        state.value = .signedIn(user: "ada")
        #expect(
            record.lines == [
                "a: idle → dataRetrieval(running)", "b: idle → dataRetrieval(running)",
                "a: dataRetrieval(running) → dataRetrieval(running)",
                "b: dataRetrieval(running) → dataRetrieval(running)",
                "a: dataRetrieval(running) → signedIn(user: \"ada\")",
            ])
        withExtendedLifetime(observers) {}
    }

    @Test("compares all possible values, including associated values")
    func comparison() {
        state.value = .dataRetrieval(.success)
        #expect(state == .dataRetrieval(.success))
        #expect(state != .dataRetrieval(.failure))
        #expect(state != .idle)
    }

    @Test("reads like a property when used as a wrapper, as in the articles")
    func wrapper() {
        final class Model {
            @ObservedState var state = AppState.idle
        }
        let model = Model()
        let observer = Observer("a", record)
        model.$state.addDelegate(observer)
        model.state = .dataRetrieval(.success)
        #expect(model.state == .dataRetrieval(.success))
        #expect(record.lines.count == 1)
    }

    @Test("an assignment during a notification is announced after all delegates were called for the previous one")
    func nested() {
        let state = state
        let first = Observer("first", record) { _, new in
            if new == .dataRetrieval(.running) {
                state.value = .dataRetrieval(.success)
                #expect(state == .dataRetrieval(.success))  // It takes effect at once.
                state.value = .idle
            }
        }
        let last = Observer("last", record)
        state.addDelegate(first)
        state.addDelegate(last)
        state.value = .dataRetrieval(.running)
        #expect(
            record.lines.map { $0.split(separator: " ").first.map(String.init) ?? "" }
                == ["first:", "last:", "first:", "last:", "first:", "last:"])
        #expect(record.lines[1].contains("idle →") && record.lines[1].contains("running"))
        #expect(record.lines[3].contains("running") && record.lines[3].contains("success"))
        #expect(record.lines[5].contains("success") && record.lines[5].hasSuffix("→ idle"))
        #expect(state == .idle)
    }

    @Test("a delegate that is added late can read the current value, and is called from the next change on")
    func lateDelegate() {
        state.value = .signedIn(user: "ada")
        let late = Observer("late", record)
        state.addDelegate(late)
        #expect(state.value == .signedIn(user: "ada"))
        #expect(record.lines.isEmpty)
        state.value = .idle
        #expect(record.lines == ["late: signedIn(user: \"ada\") → idle"])
    }

    @Test("holds its delegates weakly, and handlers by their token")
    func lifetime() {
        state.addDelegate(Observer("gone", record))
        var token: DelegateToken? = state.observe { [record] in record.add("handler: \($0) → \($1)") }
        state.value = .signedIn(user: "ada")
        #expect(token != nil)
        token = nil
        state.value = .idle
        #expect(record.lines == ["handler: idle → signedIn(user: \"ada\")"])
    }

    @Test("calls all delegates for every change of all threads, in one order")
    func threads() async throws {
        let state = ObservedState(0)
        let chains = [Chain(), Chain()]
        for chain in chains { state.addDelegate(chain) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 1...4 {
                group.addTask {
                    try await onThread { for number in 1...500 { state.value = thread * 10_000 + number } }
                }
            }
            try await group.waitForAll()
        }
        // A thread isn't kept for the changes of the others: a task may make the last calls.
        for chain in chains { while chain.heard.value.count < 2000 { await Task.yield() } }
        for chain in chains {
            #expect(chain.heard.value.count == 2000)
            #expect(chain.heard.value.first?.old == 0)
            #expect(chain.heard.value.last?.new == state.value)
            #expect(chain.isComplete)
        }
        #expect(chains[0].heard.value.map(\.new) == chains[1].heard.value.map(\.new))
    }

    @Test("is updated atomically")
    func update() async {
        let counter = ObservedState(0)
        let chain = Chain()
        counter.addDelegate(chain)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { counter.update { $0 += 1 } } } }
        }
        #expect(counter.value == 80_000)
        while chain.heard.value.last?.new != 80_000 { await Task.yield() }
        #expect(chain.isComplete)
    }

    @Test("an update returns what its closure returns, and changes nothing if that throws")
    func failingUpdate() {
        struct Refusal: Error {}
        let counter = ObservedState(1)
        let chain = Chain()
        counter.addDelegate(chain)
        #expect(throws: Refusal.self) {
            try counter.update { value throws(Refusal) in
                value = 2
                throw Refusal()
            }
        }
        #expect(counter.value == 1 && chain.heard.value.isEmpty)
        let text = counter.update {
            $0 += 1
            return "two"
        }
        #expect(text == "two" && counter.value == 2)
    }

    @Test("leaves out equal values on request, also in updates")
    func duplicates() {
        let state = ObservedState(1, removingDuplicates: true)
        let chain = Chain()
        state.addDelegate(chain)
        for value in [1, 2, 2, 3] { state.value = value }
        state.update { $0 = 3 }
        state.update { $0 = 4 }
        #expect(chain.heard.value.map(\.new) == [2, 3, 4])
    }

    @Test("an observer that receives the initial state misses no change, and receives no earlier one")
    func initial() async throws {
        for _ in 0..<30 {
            let counter = ObservedState(0)
            let isOver = Box(false)
            let writers = Task.detached {
                // Not on threads of the pool, which the tests share.
                async let first: Void = onThread { while !isOver.value { counter.update { $0 += 1 } } }
                async let second: Void = onThread { while !isOver.value { counter.update { $0 += 1 } } }
                _ = try await (first, second)
            }
            let chain = Chain()
            counter.addDelegate(chain, initial: true)
            while chain.heard.value.count < 10 { await Task.yield() }
            isOver.value = true
            try await writers.value
            while chain.heard.value.last?.new != counter.value { await Task.yield() }
            #expect(chain.isComplete && chain.heard.value[0].old == chain.heard.value[0].new)
        }
    }

    @Test("on the main actor, an observer receives the initial state at once, and each change in its order") @MainActor
    func mainActor() async {
        let counter = ObservedState(1)
        var heard: [[Int]] = []
        let token = counter.observe(on: .main, initial: true) { heard.append([$0, $1]) }
        #expect(heard == [[1, 1]])
        blockUntilDone { counter.value = 2 }
        #expect(heard == [[1, 1]])
        counter.value = 3
        #expect(heard == [[1, 1], [1, 2], [2, 3]])
        withExtendedLifetime(token) {}
    }

    @Test("calls a closure without an actor's name on the thread of the change, also if code of the main actor adds it")
    @MainActor
    func closureOfMainActor() {
        let counter = ObservedState(1)
        let heard = Box<[[Int]]>([])
        let token = counter.observe(initial: true) { old, new in heard.update { $0.append([old, new]) } }
        // The main actor is busy here.
        blockUntilDone { counter.value = 2 }
        #expect(heard.value == [[1, 1], [1, 2]])
        withExtendedLifetime(token) {}
    }

    @Test("notifies a new delegate of the current state first if that is wanted, where it is called")
    @MainActor
    func initialOfDelegates() async {
        @MainActor final class Label: @MainActor StateDelegate {
            var texts: [String] = []
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
                texts.append("\(old) → \(new)")
            }
        }
        actor Statistics: StateActor {
            private(set) var changes: [Int] = []
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { changes.append(new) }
        }
        let (counter, label, chain, statistics) = (ObservedState(7), Label(), Chain(), Statistics())
        #expect(counter.addDelegate(label, initial: true))
        #expect(!counter.addDelegate(label, initial: true))
        counter.addDelegate(chain, initial: true, isolation: nil)
        counter.addDelegate(statistics, initial: true)
        #expect(label.texts == ["7 → 7"] && chain.heard.value.map(\.new) == [7])
        counter.value = 8
        #expect(label.texts == ["7 → 7", "7 → 8"] && chain.heard.value.map(\.new) == [7, 8])
        while await statistics.changes != [7, 8] { await Task.yield() }
    }

    @Test("is the sender that its delegates receive")
    func sender() {
        final class Listener: StateDelegate, Sendable {
            let senders = Box<[ObjectIdentifier]>([])
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
                senders.update { $0.append(ObjectIdentifier(sender)) }
            }
        }
        let listener = Listener()
        let (first, second) = (ObservedState(0), StateMachine(0) { $1 > $0 })
        first.addDelegate(listener, initial: true)
        second.addDelegate(listener)
        first.value = 1
        #expect(throws: Never.self) { try second.transition(to: 1) }
        #expect(listener.senders.value == [first, first, second].map { ObjectIdentifier($0) })
    }

    @Test("counts and removes its members, but not the copy that Observation tracks") @MainActor
    func members() {
        let counter = ObservedState(0)
        let chains = [Chain(), Chain()]
        for chain in chains { counter.addDelegate(chain) }
        let heard = Box(0)
        let token = counter.observe { heard.value = $1 }
        #expect(counter.tracked == 0)
        #expect(counter.count == 3 && counter.contains(chains[0]) && !counter.contains(Chain()))
        counter.removeAllDelegates()
        #expect(counter.count == 0 && !counter.contains(chains[0]))
        counter.value = 1
        #expect(chains[0].heard.value.isEmpty && heard.value == 0 && counter.tracked == 1)
        #expect(counter.addDelegate(chains[0]) && counter.count == 1)
        withExtendedLifetime((token, chains)) {}
    }

    @Test("calls an actor on itself, once however often it was added, and does not keep it alive")
    func stateActor() async {
        actor Statistics: StateActor {
            private(set) var changes: [Int] = []
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) { changes.append(new) }
        }
        let counter = ObservedState(0)
        var statistics: Statistics? = Statistics()
        weak let observed = statistics
        if let statistics {
            #expect(counter.addDelegate(statistics))
            #expect(!counter.addDelegate(statistics))
            for number in 1...100 { counter.value = number }
            while await statistics.changes.count < 100 { await Task.yield() }
            #expect(await statistics.changes == Array(1...100))
            #expect(counter.removeDelegate(statistics))
            #expect(counter.addDelegate(statistics))
        }
        statistics = nil
        while observed != nil { await Task.yield() }
        counter.value = 0
        #expect(counter.count == 0)
    }

    @Test("a delegate that only its actor may use is called there") @MainActor
    func isolatedDelegates() async {
        @MainActor final class Label: @MainActor StateDelegate {
            var texts: [String] = []
            func stateDidChange(from old: Int, to new: Int, sender: any DelegateSender) {
                texts.append("\(old) → \(new)")
            }
        }
        let counter = ObservedState(0)
        let label = Label()
        counter.addDelegate(label)
        counter.value = 1
        #expect(label.texts == ["0 → 1"])
        await Task.detached { counter.value = 2 }.value
        while label.texts.count < 2 { await Task.yield() }
        #expect(label.texts == ["0 → 1", "1 → 2"])
    }

    @Test("is a sequence that begins with the current state and ends with the object")
    func values() async {
        var counter: ObservedState<Int>? = ObservedState(1)
        let all = counter?.values(buffering: .unbounded)
        let latest = counter?.values
        for number in 2...4 { counter?.value = number }
        counter = nil
        var heard: [Int] = []
        if let all { for await number in all { heard.append(number) } }
        #expect(heard == [1, 2, 3, 4])
        heard = []
        if let latest { for await number in latest { heard.append(number) } }
        #expect(heard == [4])
    }

    @Test("a sequence that is cancelled ends, and leaves no delegate behind")
    func cancelled() async {
        let counter = ObservedState(0)
        let task = Task { for await number in counter.values where number == 1 {} }
        while counter.count == 0 { await Task.yield() }
        task.cancel()
        await task.value
        #expect(counter.count == 0)
    }

    @Test("is tracked by Observation on the main actor, for assignments, updates and transitions, on any thread")
    @MainActor
    func observation() async throws {
        let counter = ObservedState(0)
        let machine = StateMachine(0) { $1 > $0 }
        let redraws = Box(0)
        @MainActor func draw() -> [Int] {
            withObservationTracking {
                [counter.tracked, machine.tracked]
            } onChange: {
                redraws.update { $0 += 1 }
            }
        }
        #expect(draw() == [0, 0])
        counter.value = 1
        #expect(redraws.value == 1 && draw() == [1, 0])
        counter.update { $0 += 1 }
        #expect(redraws.value == 2 && draw() == [2, 0])
        try machine.transition(to: 1)
        #expect(redraws.value == 3 && draw() == [2, 1])
        await Task.detached { counter.value = 7 }.value
        while redraws.value < 4 { await Task.yield() }
        #expect(draw() == [7, 1])
        weak var observed: ObservedState<Int>?
        do {
            let other = ObservedState(0)
            #expect(other.tracked == 0)
            observed = other
        }
        #expect(observed == nil)
    }

    @Test("nested assignments are announced before the outer one returns, however many")
    func longChain() {
        let counter = ObservedState(0)
        let token = counter.observe { _, new in if new < 10_000 { counter.value = new + 1 } }
        let chain = Chain()
        counter.addDelegate(chain)
        counter.value = 1
        #expect(chain.heard.value.count == 10_000 && chain.isComplete)
        withExtendedLifetime(token) {}
    }
}

@Suite("A state machine", .timeLimit(.minutes(20)))
struct StateMachineTests {
    private enum Door: Equatable { case open, closed, locked }

    private static func isAllowed(_ old: Door, _ new: Door) -> Bool {
        switch (old, new) {
        case (.open, .closed), (.closed, .open), (.closed, .locked), (.locked, .closed): true
        default: false
        }
    }

    @Test("an illegal transition is an error that changes nothing and calls no delegate")
    func rules() throws {
        let record = Record()
        let door = StateMachine(Door.closed) { Self.isAllowed($0, $1) }
        let token = door.observe { record.add("\($0) → \($1)") }
        try door.transition(to: .locked)
        let error = #expect(throws: IllegalTransition<Door>.self) { try door.transition(to: .open) }
        #expect(error?.old == .locked && error?.new == .open)
        #expect(error?.description == "the state can't change from locked to open")
        #expect(door == .locked && door != .open)
        try door.transition(to: .closed)
        #expect(record.lines == ["closed → locked", "locked → closed"])
        withExtendedLifetime(token) {}
    }

    @Test("calls its delegates like an observed state")
    func delegates() throws {
        let counter = StateMachine(0) { $1 == $0 + 1 }
        let chain = Chain()
        #expect(counter.addDelegate(chain))
        try counter.transition(to: 1)
        try counter.transition(to: 2)
        #expect(counter.removeDelegate(chain))
        try counter.transition(to: 3)
        #expect(chain.heard.value.map(\.new) == [1, 2])
        #expect(counter.value == 3)
    }

    @Test("enforces its rules on all threads")
    func threads() async throws {
        let counter = StateMachine(0) { $1 == $0 + 1 }
        let chain = Chain()
        counter.addDelegate(chain)
        let successes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await onThread {
                        var successes = 0
                        while successes < 200 {
                            if (try? counter.transition(to: counter.value + 1)) != nil { successes += 1 }
                        }
                        return successes
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(counter.value == successes)
        // A thread isn't kept for the changes of the others: a task may make the last calls.
        while chain.heard.value.count < successes { await Task.yield() }
        #expect(chain.heard.value.map(\.new) == Array(1...successes))
    }
}
