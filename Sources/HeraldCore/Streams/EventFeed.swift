import HeraldDelivery
package import HeraldModel
import Synchronization

/// Reads the log forward, page by page, for clients that keep their position: a delegate of the multicast, called when
/// events become durable.
///
/// Nothing is stored for a client. A request that finds nothing may wait: its position is in the list of waiting
/// requests until then, and a reader's thread searches the new events for it, so that the writer's thread does not.
///
/// Any thread. A request is in the list, or with the one thread that searches for it; so it is completed once.
package final class EventFeed: EventDelegate {
    package struct Page: Sendable {
        /// Oldest first.
        package var events: [LoggedEvent] = []
        /// The position up to which the log was searched: the next page begins after it.
        package var next: LogPosition
        /// The search ended before the end of the log.
        package var hasMore = false
        /// Retention has removed events after the position where the page begins.
        package var isTruncated = false

        package init(after position: LogPosition) { next = position }

        /// Whether there is a reason to respond.
        fileprivate var isEmpty: Bool { events.isEmpty && !hasMore && !isTruncated }
    }

    private struct Request: Sendable {
        /// The events after the position where the search has ended so far.
        var query: EventQuery
        let completion: @Sendable (Result<Page, StoreError>) -> Void
    }

    /// Rows that one page reads: about ten milliseconds.
    private static let searchedRows = 10_240
    private static let rowsPerRead = 256
    /// Milliseconds until a search is tried again for which too many reads waited.
    private static let pause = 50

    private let hub: Hub
    private let waiting: LongPolls<AppKey, Request>
    /// The requests that wait, including those for which a thread searches.
    private let count = Atomic(0)
    private let wakes = Mutex(Wakes())
    private let searched = Atomic(0)
    /// How often a waiting request was searched for.
    var searches: Int { searched.load(ordering: .relaxed) }

    private struct Wakes {
        /// The apps with new events: their requests are searched for next.
        var apps: Set<AppKey> = []
        var isSearching = false
    }

    package init(hub: Hub) {
        self.hub = hub
        waiting = LongPolls(hub) { request in
            // Behind the events of other apps, which are not searched for it.
            let gap = hub.committed.usage.gap(of: request.query.app, after: request.query.after)
            request.completion(.success(Page(after: gap.end)))
        }
    }

    /// The writer's thread.
    package func published(_ batch: EventBatch) {
        // Sequentially consistent, as in `wait`: either this sees the request, or the request sees the new events.
        if count.load(ordering: .sequentiallyConsistent) > 0 { wake(batch.apps) }
    }

    /// Reads a page. A reader's thread.
    /// - Parameter query: the events after `after`; `before` is ignored.
    package func page(_ query: EventQuery, _ reader: any StoreReader) throws(StoreError) -> Page {
        try page(query, .success(reader))
    }

    /// Waits for events that a page lacks, until there are some or the time is up.
    /// - Parameters:
    ///   - query: the events after the end of a page.
    ///   - completion: called once, on some thread, with a page that is empty when the time is up; must not wait.
    package func wait(
        _ query: EventQuery, seconds: Int, completion: @escaping @Sendable (Result<Page, StoreError>) -> Void
    ) {
        count.add(1, ordering: .sequentiallyConsistent)
        let request = Request(query: query) { [weak self] result in
            self?.count.subtract(1, ordering: .relaxed)
            completion(result)
        }
        waiting.add(request, of: query.app, seconds: seconds)
        if hub.head > query.after { wake([query.app]) }
    }

    // MARK: Searching for those that wait

    private func wake(_ apps: Set<AppKey>) {
        let begins = wakes.withLock { wakes in
            wakes.apps.formUnion(apps)
            defer { wakes.isSearching = true }
            return !wakes.isSearching
        }
        if begins { searchNext() }
    }

    /// One search at a time: another one would not find the requests that this one has taken.
    private func searchNext() {
        // It is for the requests of several apps.
        let isTaken = hub.read(app: nil) { [weak self] reader in
            guard let self else { return }
            let apps = wakes.withLock { wakes in
                defer { wakes.apps = [] }
                return wakes.apps
            }
            search(apps, reader)
            let continues = wakes.withLock { wakes in
                wakes.isSearching = !wakes.apps.isEmpty
                return wakes.isSearching
            }
            if continues { searchNext() }
        }
        // A hub that stops calls its timers early: another one would follow at once, and so on. It ends the requests by itself.
        if !isTaken, !hub.isStopping { hub.after(milliseconds: Self.pause) { [weak self] in self?.searchNext() } }
    }

    /// A reader's thread.
    private func search(_ apps: Set<AppKey>, _ reader: Result<any StoreReader, StoreError>) {
        var rest: [LongPolls<AppKey, Request>.Entry] = []
        for var entry in waiting.takeAll(of: apps) {
            searched.add(1, ordering: .relaxed)
            do throws(StoreError) {
                let page = try page(entry.request.query, reader)
                if page.isEmpty {
                    entry.request.query.after = page.next
                    rest.append(entry)
                } else {
                    entry.request.completion(.success(page))
                }
            } catch {
                hub.requestFailed(error)
                entry.request.completion(.failure(error))
            }
        }
        waiting.add(rest)
    }

    // MARK: Reading

    private func page(
        _ query: EventQuery, _ reader: Result<any StoreReader, StoreError>
    ) throws(StoreError) -> Page {
        var page = Page(after: query.after)
        var rows = 0
        var (read, found) = (0, 0)
        while rows < Self.searchedRows, read < query.maxBytes {
            // Before the log: an event that is published in between is not skipped.
            let head = hub.head
            // The events of other apps are passed over: they show neither in the number of pages nor in their time.
            let gap = hub.committed.usage.gap(of: query.app, after: page.next)
            page.next = gap.end
            if !gap.isFollowed { return page }
            let batch = try hub.batch(after: page.next, limit: Self.rowsPerRead, reader)
            if batch.events.isEmpty {
                if page.next >= head { return page }
                // Retention has removed all up to there.
                page.isTruncated = true
                page.next = head
                continue
            }
            if batch.first > page.next + 1 { page.isTruncated = true }
            for (index, event) in batch.events.enumerated() {
                read += event.body.count
                if query.matches(event), !event.isErased, !event.isDamaged {
                    let isFull =
                        page.events.count == query.limit || (found > 0 && found + event.body.count > query.maxBytes)
                    if isFull {
                        page.hasMore = true
                        return page
                    }
                    found += event.body.count
                    page.events.append(LoggedEvent(sequence: batch.first + LogPosition(index), event: event))
                }
                page.next = batch.first + LogPosition(index)
            }
            rows += batch.events.count
        }
        page.hasMore = page.next < hub.head
        return page
    }
}

extension Hub {
    /// Events after a position, from memory or from the store. A reader's thread.
    func batch(
        after position: LogPosition, limit: Int, _ reader: Result<any StoreReader, StoreError>
    ) throws(StoreError) -> EventBatch {
        if let recent = recentEvents(after: position, limit: limit) { return recent }
        return try reader.get().events(after: position, limit: limit, maxBytes: pageBytes)
    }
}
