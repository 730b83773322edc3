import HeraldRuntime
import Synchronization

/// Requests that wait for something, each until its time is up, with a precision of a second, or until the hub stops.
///
/// They wait in groups, by what they wait for: the end of the wait of one group examines no requests of others. Any thread; the
/// lock guards the list.
final class LongPolls<Group: Hashable & Sendable, Request: Sendable>: Sendable {
    struct Entry: Sendable {
        var request: Request
        fileprivate let group: Group
        /// On the monotonic clock.
        fileprivate let deadline: Int64
        fileprivate var number = 0
    }

    private struct Entries {
        var groups: [Group: [Int: Entry]] = [:]
        var next = 0
        /// One timer for all waiting requests.
        var isTicking = false

        mutating func add(_ entry: Entry) {
            var entry = entry
            entry.number = next
            next += 1
            groups[entry.group, default: [:]][entry.number] = entry
        }

        /// In the order of their arrival.
        mutating func take(of group: Group, where isMeant: (Entry) -> Bool) -> [Entry] {
            let meant = groups[group]?.values.filter(isMeant) ?? []
            for entry in meant { groups[group]?[entry.number] = nil }
            if groups[group]?.isEmpty == true { groups[group] = nil }
            return meant.sorted { $0.number < $1.number }
        }

        /// In the order of their arrival.
        mutating func take(where isMeant: (Entry) -> Bool) -> [Entry] {
            var meant: [Entry] = []
            for group in Array(groups.keys) { meant += take(of: group, where: isMeant) }
            return meant.sorted { $0.number < $1.number }
        }
    }

    private let hub: Hub
    private let expired: @Sendable (Request) -> Void
    private let entries = Mutex(Entries())

    /// - Parameter expired: called for a request whose time is up, which does not wait any more: on a loop's thread, or on
    ///   that of `add` if the hub stops; must not wait.
    init(_ hub: Hub, expired: @escaping @Sendable (Request) -> Void) {
        self.hub = hub
        self.expired = expired
    }

    func add(_ request: Request, of group: Group, seconds: Int) {
        add(request, of: group, until: hub.clock.monotonic() + Int64(seconds) * 1_000_000_000)
    }

    /// - Parameter deadline: monotonic nanoseconds.
    func add(_ request: Request, of group: Group, until deadline: Int64) {
        add([Entry(request: request, group: group, deadline: deadline)])
    }

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

    /// Removes matching requests of a group from the list.
    func take(of group: Group, where isMeant: (Request) -> Bool = { _ in true }) -> [Request] {
        entries.withLock { entries in
            entries.take(of: group, where: { isMeant($0.request) }).map(\.request)
        }
    }

    /// Removes all requests of these groups from the list.
    func takeAll(of groups: Set<Group>) -> [Entry] {
        entries.withLock { entries in groups.flatMap { entries.take(of: $0) { _ in true } } }
    }

    private func tick() {
        hub.after(milliseconds: 1000) { [weak self] in
            guard let self else { return }
            if endExpired() { tick() }
        }
        // The hub's loops may have ended already, and call nothing any more.
        if hub.isStopping { _ = endExpired() }
    }

    /// - Returns: whether there are requests that still wait.
    private func endExpired() -> Bool {
        let now = hub.clock.monotonic()
        // A hub that stops calls its timers early: another one would follow at once, and so on.
        let isLast = hub.isStopping
        let (over, goesOn) = entries.withLock { entries in
            let over = entries.take { isLast || $0.deadline <= now }
            entries.isTicking = !entries.groups.isEmpty
            return (over, entries.isTicking)
        }
        for entry in over { expired(entry.request) }
        return goesOn
    }
}
