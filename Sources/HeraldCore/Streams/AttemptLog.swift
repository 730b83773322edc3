import Synchronization

/// The log of attempts, as far as clients listen to it. What they are told is what a reader found in the store: the
/// deliveries keep no copies for them, and do nothing else either while nobody listens.
///
/// What is not constant or atomic belongs to the streams' thread, which is why it may cross threads.
package final class AttemptLog: StreamLog, @unchecked Sendable {
    package typealias Page = AttemptPage
    package typealias Interest = AttemptInterest

    /// Attempts in memory at most, once cut: a client that reads slower than that reads from the store.
    private static let memory = 1_024

    private let hub: Hub
    /// The places of what is in memory, and whose it is.
    private let known = Mutex<[(place: LogPosition, app: AppKey)]>([])

    // The streams' thread.

    /// The end of the log; `nil`: nobody listens.
    private var recent: AttemptPage?
    private var isReading = false
    /// Something was written down after the read began that is under way.
    private var isBehind = false
    private var erasuresSeen = 0

    init(_ hub: Hub) { self.hub = hub }

    /// What is not in memory any more is not counted: 1,024 are told apart at least.
    package func count(of app: AppKey, after place: LogPosition) -> Int64 {
        known.withLock { known in Int64(known.reversed().prefix { $0.place > place }.count { $0.app == app }) }
    }
    package var erasures: Int { hub.recentEvents.erasures.load(ordering: .acquiring) }

    // MARK: The streams' thread

    package var end: LogPosition? { nil }

    package func begin(head: LogPosition) {
        if recent != nil { return }
        recent = AttemptPage(after: head, last: head)
        erasuresSeen = erasures
    }

    package func rest() {
        recent = nil
        known.withLock { $0 = [] }
    }

    package func slice(after place: LogPosition, limit: Int) -> LogSlice<AttemptPage> {
        guard let recent else { return .gone }
        if erasuresSeen != erasures {
            erasuresSeen = erasures
            self.recent = AttemptPage(after: recent.last, last: recent.last)
        }
        guard let recent = self.recent, place >= recent.after else { return .gone }
        return place >= recent.last ? .end : .entries(recent.rest(after: place, limit: limit))
    }

    package func refresh(on thread: any StreamThread, _ done: @escaping @Sendable () -> Void) {
        isBehind = true
        if !isReading { read(thread, done) }
    }

    /// Reads the next page, one at a time, until there is none.
    private func read(_ thread: any StreamThread, _ done: @escaping @Sendable () -> Void) {
        guard let place = recent?.last else { return }
        isReading = true
        isBehind = false
        let erasures = erasures
        let taken = hub.read { [self] reader in
            let page = try? page(after: place, in: reader.get())
            thread.perform {
                guard let page else { return self.tryAgain(thread, done) }
                self.isReading = false
                // What was erased meanwhile may be in it.
                if erasures != self.erasures { return self.read(thread, done) }
                self.take(page)
                done()
                if page.last > place || self.isBehind { self.read(thread, done) }
            }
        }
        if !taken { tryAgain(thread, done) }
    }

    private func take(_ page: AttemptPage) {
        // Meanwhile all may have left, and others come.
        guard var recent, page.last > recent.last else { return }
        let new = page.rest(after: recent.last)
        known.withLock { known in
            known += new.entries.map { (place: $0.attempt.id, app: $0.app) }
            if known.count > 2 * Self.memory { known.removeFirst(known.count - Self.memory) }
        }
        if page.after > recent.last {
            // Retention was faster.
            recent = page
        } else {
            recent.append(new)
        }
        if recent.entries.count > 2 * Self.memory {
            recent = recent.rest(after: recent.place(recent.entries.count - Self.memory - 1))
        }
        self.recent = recent
    }

    /// The store could not be read: once more in a second, and not before.
    private func tryAgain(_ thread: any StreamThread, _ done: @escaping @Sendable () -> Void) {
        hub.after(seconds: 1) {
            thread.perform {
                self.isReading = false
                self.read(thread, done)
            }
        }
    }

    // MARK: A reader's thread

    package func end(in reader: any StoreReader) throws(StoreError) -> LogPosition { try reader.lastAttempt() }

    package func page(after place: LogPosition, in reader: any StoreReader) throws(StoreError) -> AttemptPage {
        let found = try reader.attempts(after: place, limit: PageCache.eventsPerPage)
        guard let first = found.first, let last = found.last else { return AttemptPage(after: place, last: place) }
        // Numbers may be missing where something was erased. What is missing at the front was removed by retention, or that is
        // what it is taken for.
        var after = place
        if first.id > place + 1, let oldest = try reader.attempts(after: 0, limit: 1).first {
            after = max(place, oldest.id - 1)
        }
        var names = AttemptNames(hub, reader)
        return AttemptPage(after: after, last: last.id, entries: try names.entries(found))
    }
}

/// Finds the names for attempts; each once.
private struct AttemptNames {
    private let hub: Hub
    private let reader: any StoreReader
    private var events: [LogPosition: (app: AppKey, id: String)?] = [:]
    private var delegates: [DelegateKey: (app: AppKey?, id: String)?] = [:]

    init(_ hub: Hub, _ reader: any StoreReader) {
        self.hub = hub
        self.reader = reader
    }

    mutating func entries(_ attempts: [StoredAttempt]) throws(StoreError) -> [LoggedAttempt] {
        var entries: [LoggedAttempt] = []
        entries.reserveCapacity(attempts.count)
        for attempt in attempts {
            let event = try event(attempt.record.event)
            // A number that was kept when its event was erased is nobody's.
            guard let delegate = try delegate(attempt.record.delegate), let app = event?.app ?? delegate.app else {
                continue
            }
            entries.append(LoggedAttempt(attempt: attempt, app: app, delegateID: delegate.id, eventID: event?.id))
        }
        return entries
    }

    private mutating func event(_ sequence: LogPosition) throws(StoreError) -> (app: AppKey, id: String)? {
        if let known = events[sequence] { return known }
        var batch: EventBatch
        if case .events(let recent) = hub.recentEvents.slice(after: sequence - 1, limit: 1) {
            batch = recent
        } else {
            batch = try reader.events(after: sequence - 1, limit: 1, maxBytes: 1)
        }
        let event = batch.events.first { batch.first == sequence && !$0.isDamaged }
        let found = event.map { (app: $0.app, id: $0.id) }
        events[sequence] = .some(found)
        return found
    }

    private mutating func delegate(_ key: DelegateKey) throws(StoreError) -> (app: AppKey?, id: String)? {
        if let known = delegates[key] { return known }
        var found: (app: AppKey?, id: String)?
        if let delegate = hub.registry.delegate(key: key) {
            found = (delegate.app, delegate.id)
        } else if let id = try reader.deletedDelegateID(key) {
            found = (nil, id)
        }
        delegates[key] = .some(found)
        return found
    }
}
