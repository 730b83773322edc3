import HeraldDelivery
package import HeraldModel
import Synchronization

/// The log of attempts for live streams. Attempts are read from the store: deliveries keep no copies for streams, and
/// do no extra work without open streams.
///
/// State that is neither constant nor atomic belongs to the streams' thread, which is why `@unchecked Sendable` is
/// correct.
package final class AttemptLog: StreamLog, @unchecked Sendable {
    package typealias Page = AttemptPage
    package typealias Interest = AttemptInterest

    /// The maximum number of attempts in memory after a cut: a slower client reads from the store.
    private static let memory = 1_024
    /// 256 attempts with the longest excerpts and details.
    package let pageBytes = 512 << 10

    private let hub: Hub
    /// The positions in memory, and their apps.
    private let known = Mutex<[(place: LogPosition, app: AppKey)]>([])

    // The streams' thread.

    /// The end of the log; `nil` without open streams.
    private var recent: AttemptPage?
    private var isReading = false
    /// Attempts were recorded after the start of the current read.
    private var isBehind = false
    private var erasuresSeen = 0

    package init(_ hub: Hub) { self.hub = hub }

    /// Attempts that are not in memory are not counted: the count is exact up to at least 1,024.
    package func count(of app: AppKey, after place: LogPosition) -> Int64 {
        known.withLock { known in Int64(known.reversed().prefix { $0.place > place }.count { $0.app == app }) }
    }
    package var erasures: Int { hub.committed.recentEvents.erasures.load(ordering: .acquiring) }

    // MARK: The streams' thread

    package var end: LogPosition? { nil }

    package func begin(head: LogPosition) {
        if recent != nil { return }
        recent = AttemptPage(after: head, last: head)
        erasuresSeen = erasures
    }

    package func streamsEnded() {
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

    /// Reads one page after the other, until there are no more.
    private func read(_ thread: any StreamThread, _ done: @escaping @Sendable () -> Void) {
        guard let place = recent?.last else { return }
        isReading = true
        isBehind = false
        let erasures = erasures
        let taken = hub.read(app: nil) { [self] reader in
            let page = hub.found(reader) { reader throws(StoreError) in try self.page(after: place, in: reader) }
            thread.perform {
                guard let page else { return self.tryAgain(thread, done) }
                self.isReading = false
                // The page may contain attempts that were erased after it was read.
                if erasures != self.erasures { return self.read(thread, done) }
                self.take(page)
                done()
                if page.last > place || self.isBehind { self.read(thread, done) }
            }
        }
        if !taken { tryAgain(thread, done) }
    }

    private func take(_ page: AttemptPage) {
        // All streams may have closed in the meantime, and others opened.
        guard var recent, page.last > recent.last else { return }
        let new = page.rest(after: recent.last)
        known.withLock { known in
            known += new.entries.map { (place: $0.attempt.id, app: $0.app) }
            if known.count > 2 * Self.memory { known.removeFirst(known.count - Self.memory) }
        }
        if page.after > recent.last {
            // Retention has removed the attempts in between.
            recent = page
        } else {
            recent.append(new)
        }
        if recent.entries.count > 2 * Self.memory {
            recent = recent.rest(after: recent.place(recent.entries.count - Self.memory - 1))
        }
        self.recent = recent
    }

    /// The store could not be read: reads again after a second.
    private func tryAgain(_ thread: any StreamThread, _ done: @escaping @Sendable () -> Void) {
        hub.after(milliseconds: 1000) {
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
        // Ids may be missing after an erasure. A gap at the front is attributed to retention.
        var after = place
        if first.id > place + 1, let oldest = try reader.attempts(after: 0, limit: 1).first {
            after = max(place, oldest.id - 1)
        }
        var names = AttemptNames(hub, reader)
        return AttemptPage(after: after, last: last.id, entries: try names.entries(found))
    }
}

/// Looks up the ids of delegates and events, each once.
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
            // The number of an erased event refers to no event.
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
        if case .events(let recent) = hub.committed.recentEvents.slice(after: sequence - 1, limit: 1) {
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
        if let delegate = hub.committed.registry.delegate(key: key) {
            found = (delegate.app, delegate.id)
        } else if let id = try reader.deletedDelegateID(key) {
            found = (nil, id)
        }
        delegates[key] = .some(found)
        return found
    }
}
