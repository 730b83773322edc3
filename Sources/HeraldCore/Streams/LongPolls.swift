import HeraldRuntime
import Synchronization

/// Requests that wait for something, each until its time is up, with a precision of a second.
///
/// Any thread; the lock guards the list.
final class LongPolls<Request: Sendable>: Sendable {
    struct Entry: Sendable {
        var request: Request
        /// On the monotonic clock.
        fileprivate let deadline: Int64
    }

    private struct Entries {
        var byNumber: [Int: Entry] = [:]
        var next = 0
        /// One timer for all waiting requests.
        var isTicking = false

        mutating func add(_ entry: Entry) {
            byNumber[next] = entry
            next += 1
        }

        mutating func take(where isMeant: (Entry) -> Bool) -> [Entry] {
            // In the order of their arrival.
            let meant = byNumber.filter { isMeant($0.value) }.sorted { $0.key < $1.key }
            for (number, _) in meant { byNumber[number] = nil }
            return meant.map(\.value)
        }
    }

    private let hub: Hub
    private let expired: @Sendable (Request) -> Void
    private let entries = Mutex(Entries())

    /// - Parameter expired: called on a loop's thread for a request whose time is up, which does not wait any more; must
    ///   not wait.
    init(_ hub: Hub, expired: @escaping @Sendable (Request) -> Void) {
        self.hub = hub
        self.expired = expired
    }

    func add(_ request: Request, seconds: Int) {
        add(request, until: hub.clock.monotonic() + Int64(seconds) * 1_000_000_000)
    }

    /// - Parameter deadline: monotonic nanoseconds.
    func add(_ request: Request, until deadline: Int64) { add([Entry(request: request, deadline: deadline)]) }

    /// Adds requests that were taken before; their time continues.
    func add(_ waiting: [Entry]) {
        if waiting.isEmpty { return }
        let startsTicking = entries.withLock { entries in
            for entry in waiting { entries.add(entry) }
            defer { entries.isTicking = true }
            return !entries.isTicking
        }
        if startsTicking { tick() }
    }

    /// Removes matching requests from the list.
    func take(where isMeant: (Request) -> Bool = { _ in true }) -> [Entry] {
        entries.withLock { $0.take { isMeant($0.request) } }
    }

    private func tick() {
        hub.after(milliseconds: 1000) { [weak self] in
            guard let self else { return }
            let now = hub.clock.monotonic()
            let (over, goesOn) = entries.withLock { entries in
                let over = entries.take { $0.deadline <= now }
                entries.isTicking = !entries.byNumber.isEmpty
                return (over, entries.isTicking)
            }
            for entry in over { expired(entry.request) }
            if goesOn { tick() }
        }
    }
}
