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

private final class Observer: StateDelegate {
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

    func stateDidChange(from old: AppState, to new: AppState) {
        record.add("\(name): \(old) → \(new)")
        reaction(old, new)
    }
}

/// States from 0 up, for tests that count.
private final class Chain: StateDelegate {
    let heard = Box<[(old: Int, new: Int)]>([])
    func stateDidChange(from old: Int, to new: Int) { heard.update { $0.append((old, new)) } }

    /// Whether each change begins where the one before has ended.
    var isComplete: Bool { zip(heard.value, heard.value.dropFirst()).allSatisfy { $0.new == $1.old } }
}

@Suite("An observed state", .timeLimit(.minutes(5)))
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
        var token: DelegateToken? = state.addHandler { [record] in record.add("handler: \($0) → \($1)") }
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
        for chain in chains {
            #expect(chain.heard.value.count == 2000)
            #expect(chain.heard.value.first?.old == 0)
            #expect(chain.heard.value.last?.new == state.value)
            #expect(chain.isComplete)
        }
        #expect(chains[0].heard.value.map(\.new) == chains[1].heard.value.map(\.new))
    }
}

@Suite("A state machine", .timeLimit(.minutes(5)))
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
        let token = door.addHandler { record.add("\($0) → \($1)") }
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
        #expect(chain.heard.value.map(\.new) == Array(1...successes))
    }
}
