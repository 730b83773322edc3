import Delegation
import Dispatch

/// After the first `await` of an asynchronous `main` on Linux, the main thread has ended, and any thread of Dispatch runs the
/// main actor: the threads that also run other queues. Those and the main actor itself notify delegates and closures of the
/// main actor here. The program fails if one of them is called elsewhere, and does not end if one is not called.
@main
struct AsyncMain {
    static let queues = 8
    static let calls = 500

    static func main() async {
        let observers = Observers()
        await Task.yield()
        for number in 0..<queues { notify(observers, from: DispatchQueue(label: "\(number)"), calls) }
        await observers.completion()
        print("all calls were made on the main actor")
    }

    /// Notifies from the queue and from the main actor in turn.
    static func notify(_ observers: Observers, from queue: DispatchQueue, _ count: Int) {
        queue.async {
            notify(observers)
            DispatchQueue.main.async {
                notify(observers)
                if count > 1 { notify(observers, from: queue, count - 1) }
            }
        }
    }

    static func notify(_ observers: Observers) {
        observers.counter.update { $0 += 1 }
        observers.logins.userIsLoggedIn(user: 1)
        observers.delegates.invokeDelegates { $0.hear() }
        observers.handlers.invokeHandlers(1)
    }
}

protocol Hearing: AnyObject { func hear() }

@MainActor
final class Observers: @MainActor Hearing {
    nonisolated let counter = ObservedState(0)
    nonisolated let logins = AuthEvents<Int>()
    nonisolated let delegates = SharedMulticastDelegate<any Hearing>()
    nonisolated let handlers = MulticastDelegate<Handler<Int>>()
    private var tokens: [DelegateToken] = []
    private var counts = [0, 0, 0, 0]
    private var isBusy = false
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init() {
        delegates.addDelegate(self)
        tokens = [
            counter.observe(on: .main) { [weak self] _, _ in self?.count(0) },
            logins.observe(on: .main) { [weak self] _ in self?.count(1) },
            handlers.addHandler(on: .main) { [weak self] _ in self?.count(3) },
        ]
    }

    func hear() { count(2) }

    /// Returns when all calls were made.
    func completion() async {
        for await _ in changes where counts.allSatisfy({ $0 == 2 * AsyncMain.queues * AsyncMain.calls }) { return }
    }

    private func count(_ number: Int) {
        precondition(!isBusy, "two calls at once")
        isBusy = true
        MainActor.preconditionIsolated()
        counts[number] += 1
        isBusy = false
        change.yield()
    }
}
