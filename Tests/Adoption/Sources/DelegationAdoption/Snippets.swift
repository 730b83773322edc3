import Delegation
import Observation

// What app developers write first. It compiles without a warning as it is, and with `-default-isolation MainActor`.

nonisolated enum AppState: Equatable, Sendable {
    nonisolated enum Retrieval: Equatable, Sendable { case running, success }
    case idle
    case dataRetrieval(Retrieval)
}

nonisolated struct Account: Equatable, Sendable { let name: String }

/// Stands for UIKit's.
@MainActor class UIViewController {
    var title = ""
    init() {}
}

// 1. A view controller as delegate of a state.
final class StatusController: UIViewController, @MainActor StateDelegate {
    private(set) var seen: [AppState] = []

    func viewDidLoad(_ state: ObservedState<AppState>) { state.addDelegate(self) }

    func stateDidChange(from old: AppState, to new: AppState, sender: any DelegateSender) {
        title = "\(new)"
        seen.append(new)
    }
}

// 2. A view controller as delegate of logins.
final class AccountController: UIViewController, @MainActor AuthEventsDelegate {
    func viewDidLoad(_ events: AuthEvents<Account>) { events.addDelegate(self) }

    func userIsLoggedIn(user: Account, sender: any DelegateSender) { title = user.name }
    func userIsLoggedOut(user: Account?, sender: any DelegateSender) { title = "Good-bye" }
    func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
}

// 3. A closure on the main actor that writes a property.
final class LabelController: UIViewController {
    private var tokens: Set<DelegateToken> = []

    func viewDidLoad(_ state: ObservedState<AppState>, _ events: AuthEvents<Account>) {
        tokens.insert(state.observe(on: .main, initial: true) { [weak self] _, new in self?.title = "\(new)" })
        tokens.insert(events.observe(on: .main) { [weak self] event in self?.title = "\(event)" })
    }
}

// 4. An actor as delegate.
actor Statistics: StateActor {
    private(set) var changes = 0
    private(set) var starts = 0
    private var token: DelegateToken?

    func stateDidChange(from old: AppState, to new: AppState, sender: any DelegateSender) { changes += 1 }

    func start(_ state: ObservedState<AppState>) {
        token = state.observe(on: self) { me, _, new in if new == .dataRetrieval(.running) { me.starts += 1 } }
    }
}

// 5. The state of the app, for all of it.
extension AppState {
    nonisolated static let changes = ObservedState(AppState.idle, removingDuplicates: true)

    nonisolated static var current: AppState {
        get { changes.value }
        set { changes.value = newValue }
    }
}

// 6. A view model.
@MainActor @Observable
final class Model {
    private(set) var state = AppState.idle
    @ObservationIgnored private var token: DelegateToken?

    init(_ state: ObservedState<AppState>) {
        token = state.observe(on: .main, initial: true) { [weak self] _, new in self?.state = new }
    }
}

// 7. A SwiftUI view that follows a state. (Stands for `some View`; Examples/Apps has real ones.)
@MainActor struct StatusView {
    let state: ObservedState<AppState>

    var body: String { state.tracked == .idle ? "Ready" : "Loading" }
}

// 8. `for await` over a state.
nonisolated func follow(_ state: ObservedState<AppState>, until last: AppState) async -> [AppState] {
    var seen: [AppState] = []
    for await value in state.values(buffering: .unbounded) {
        seen.append(value)
        if value == last { break }
    }
    return seen
}

// 9. A protocol with a returned value.
protocol WindowDelegate: AnyObject { func shouldClose() -> Bool }

final class Document: UIViewController, @MainActor WindowDelegate {
    var isSaved = true
    func shouldClose() -> Bool { isSaved }
}

@MainActor func mayQuit(_ windows: MulticastDelegate<any WindowDelegate>) -> Bool {
    windows.allSatisfy { $0.shouldClose() }
}

// 10. A throwing protocol with typed errors.
nonisolated enum SaveError: Error { case diskIsFull }

protocol Saver: AnyObject { func save() throws(SaveError) }

final class Disk: UIViewController, @MainActor Saver {
    func save() throws(SaveError) { throw .diskIsFull }
}

@MainActor func saveAll(_ savers: MulticastDelegate<any Saver>) -> [SaveError] {
    do throws(MulticastError<SaveError>) {
        try savers.invokeDelegates { saver throws(SaveError) in try saver.save() }
        return []
    } catch {
        return error.errors
    }
}

// And a protocol of one's own, whose delegates are view controllers, called from any thread. (`nonisolated` matters only where
// the default is the main actor; then the method says where it belongs.)
nonisolated protocol DownloadDelegate: AnyObject { func download(_ name: String, didReach progress: Double) }

final class ProgressController: UIViewController, @MainActor DownloadDelegate {
    private(set) var progress = 0.0
    @MainActor func download(_ name: String, didReach progress: Double) { self.progress = progress }
}

nonisolated final class Download: Sendable {
    let delegates = SharedMulticastDelegate<any DownloadDelegate>()
    func received(_ progress: Double) { delegates.invokeDelegates { $0.download("map", didReach: progress) } }
}
