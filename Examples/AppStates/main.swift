import Delegation

nonisolated enum Retrieval: Equatable {
    case running
    case success
    case failure(reason: String)
}

nonisolated enum AppState: Equatable {
    case idle
    case dataRetrieval(Retrieval)
}

final class StatusBar: StateDelegate {
    func stateDidChange(from old: AppState, to new: AppState, sender: any DelegateSender) {
        switch new {
        case .idle: print("  Status bar: ready")
        case .dataRetrieval(.running): print("  Status bar: loading …")
        case .dataRetrieval(.success): print("  Status bar: up to date")
        case .dataRetrieval(.failure(let reason)): print("  Status bar: \(reason)")
        }
    }
}

nonisolated extension AppState: CustomStringConvertible {
    var description: String {
        switch self {
        case .idle: "idle"
        case .dataRetrieval(.running): "running"
        case .dataRetrieval(.success): "success"
        case .dataRetrieval(.failure): "failure"
        }
    }
}

/// Retries once during the notification: all delegates are notified of the failure first.
final class Loader: StateDelegate {
    private let state: ObservedState<AppState>

    init(_ state: ObservedState<AppState>) { self.state = state }

    func stateDidChange(from old: AppState, to new: AppState, sender: any DelegateSender) {
        guard case .dataRetrieval(.failure) = new else { return }
        print("  Loader: I try again")
        state.value = .dataRetrieval(.running)
    }
}

let state = ObservedState(AppState.idle)
let loader = Loader(state)
let statusBar = StatusBar()
state.addDelegate(loader)
state.addDelegate(statusBar)
let log = state.observe(on: .main) { old, new in print("  Log: \(old) → \(new)") }

print("The user pulls to refresh.")
state.value = .dataRetrieval(.running)
print("The network is gone.")
state.value = .dataRetrieval(.failure(reason: "no connection"))
print("The data arrives.")
state.value = .dataRetrieval(.success)
if state == .dataRetrieval(.success) { print("A view that comes late sees that all is well.") }

// With rules, an illegal transition is an error.
let checked = StateMachine(AppState.idle) { old, new in
    if case .dataRetrieval(.success) = new { return old == .dataRetrieval(.running) }
    return true
}
do {
    try checked.transition(to: .dataRetrieval(.success))
} catch {
    print("Not without loading: it is still \(checked.value).")
}
