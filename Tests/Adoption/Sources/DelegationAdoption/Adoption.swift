import Delegation
import Observation
import Synchronization

@main
struct Adoption {
    static func main() async {
        await snippets()
        print("ok")
    }

    @MainActor static func snippets() async {
        let state = AppState.changes
        let events = AuthEvents<Account>()
        let (status, account, label) = (StatusController(), AccountController(), LabelController())
        let (statistics, model, view) = (Statistics(), Model(state), StatusView(state: state))
        status.viewDidLoad(state)
        account.viewDidLoad(events)
        label.viewDidLoad(state, events)
        check(label.title == "idle")
        check(state.addDelegate(statistics))
        check(!state.addDelegate(statistics))
        await statistics.start(state)

        // On the main thread, before the assignment returns.
        let redraws = Counter()
        withObservationTracking {
            _ = view.body
        } onChange: {
            redraws.count.add(1, ordering: .relaxed)
        }
        AppState.current = .dataRetrieval(.running)
        check(status.title == "dataRetrieval(DelegationAdoption.AppState.Retrieval.running)")
        check(label.title == status.title && model.state == .dataRetrieval(.running) && view.body == "Loading")
        check(redraws.count.load(ordering: .relaxed) == 1)
        events.userIsLoggedIn(user: Account(name: "Ada"))
        check(account.title == "Ada")

        // On another thread.
        async let followed = follow(state, until: .idle)
        await Task.detached {
            AppState.current = .dataRetrieval(.running)  // Equal.
            AppState.current = .dataRetrieval(.success)
            events.userIsLoggedOut()
            AppState.current = .idle
        }.value
        while status.seen.count < 3 { await Task.yield() }
        check(status.seen == [.dataRetrieval(.running), .dataRetrieval(.success), .idle])
        check(account.title == "Good-bye" && model.state == .idle && view.body == "Ready")
        check(await followed.last == .idle)
        while await statistics.changes < 3 { await Task.yield() }
        check(await statistics.starts == 1)

        let windows = MulticastDelegate<any WindowDelegate>()
        let documents = [Document(), Document()]
        for document in documents { windows.addDelegate(document) }
        check(mayQuit(windows))
        documents[1].isSaved = false
        check(!mayQuit(windows) && windows.results { $0.shouldClose() } == [true, false])

        let savers = MulticastDelegate<any Saver>()
        let disk = Disk()
        savers.addDelegate(disk)
        check(saveAll(savers) == [.diskIsFull])

        let download = Download()
        let progress = ProgressController()
        download.delegates.addDelegate(progress)
        download.received(0.5)
        check(progress.progress == 0.5)
        await Task.detached { download.received(1) }.value
        while progress.progress < 1 { await Task.yield() }
    }
}

func check(_ condition: Bool, line: Int = #line) {
    if !condition { fatalError("Adoption.swift:\(line) does not hold") }
}

final class Counter: Sendable { let count = Atomic(0) }
