package import HeraldModel
import HeraldRuntime

/// Pages of the log for lanes that are behind the recent events. Shared by all lanes of a loop, requested once,
/// bounded.
///
/// Confined to one delivery loop; the reads themselves run on a reader's thread.
package typealias PageCache = LogPageCache<EventBatch>

/// Pages of a log. Live streams use one too, in place of lanes. Confined to one thread.
package struct LogPageCache<Page: LogPage> {
    package static var eventsPerPage: Int { 256 }
    /// Maximum number of cached pages, and of concurrent reads.
    package static var maxPages: Int { 32 }
    static var maxReads: Int { 4 }

    private let maxBytes: Int
    /// Oldest first.
    private var pages: [Page] = []
    private var bytes = 0
    /// The delegates that wait for the events after a position. The positions are being read, or wait for a read to
    /// end.
    private var waiters: [LogPosition: Waiters] = [:]
    private var reading: Set<LogPosition> = []
    /// Positions to be read later, in the turns of the apps; `nil`: for several apps.
    private var queued = TurnQueue<AppKey?, LogPosition>()

    /// In order of arrival, without duplicates.
    private struct Waiters {
        private(set) var delegates: [DelegateKey] = []
        private var known: Set<DelegateKey> = []

        mutating func append(_ delegate: DelegateKey) {
            if known.insert(delegate).inserted { delegates.append(delegate) }
        }
    }

    /// - Parameter maxBytes: of the cached pages, of which the newest one is always kept.
    package init(maxBytes: Int = .max) { self.maxBytes = maxBytes }

    /// The cached page with the events after a position.
    package mutating func page(after place: LogPosition) -> Page? {
        // The most recently used page is searched first.
        var index = pages.count - 1
        while index >= 0 {
            let page = pages[index]
            if page.after <= place && place < page.last {
                if index != pages.count - 1 { pages.append(pages.remove(at: index)) }
                return page
            }
            index -= 1
        }
        return nil
    }

    /// Removes the pages that contain one of these events.
    mutating func forget(_ sequences: Set<LogPosition>) {
        pages.removeAll { page in sequences.contains { page.after < $0 && $0 <= page.last } }
        bytes = pages.reduce(0) { $0 + $1.bytes }
    }

    /// Removes all pages; open reads continue.
    package mutating func forgetPages() {
        pages.removeAll()
        bytes = 0
    }

    /// Records that a lane of an app needs the event at `sequence`.
    /// - Returns: the position after which to read now, if a read must start.
    package mutating func want(_ sequence: LogPosition, for delegate: DelegateKey, of app: AppKey?) -> LogPosition? {
        let after = sequence - 1
        // The position is being read, or is queued, as long as a delegate waits for it.
        let isRequested = waiters[after] != nil
        waiters[after, default: Waiters()].append(delegate)
        if isRequested || reading.contains(after) { return nil }
        if reading.count >= Self.maxReads {
            queued.append(after, of: app)
            return nil
        }
        reading.insert(after)
        return after
    }

    /// Called when a read has ended.
    /// - Parameter page: `nil` if the read failed.
    /// - Returns: the delegates that waited for it, and the position after which to read next, if any.
    package mutating func arrived(after: LogPosition, _ page: Page?) -> (
        delegates: [DelegateKey], readNext: LogPosition?
    ) {
        reading.remove(after)
        if let page, page.last > page.after {
            bytes += page.bytes
            while let oldest = pages.first, pages.count >= Self.maxPages || bytes > maxBytes {
                bytes -= oldest.bytes
                pages.removeFirst()
            }
            pages.append(page)
        }
        let delegates = waiters.removeValue(forKey: after)?.delegates ?? []
        guard let next = queued.takeFirst() else { return (delegates, nil) }
        reading.insert(next)
        return (delegates, next)
    }
}

extension LogPageCache<EventBatch> {
    /// The event, if its page is cached.
    mutating func event(_ sequence: LogPosition) -> Event? {
        guard let page = page(after: sequence - 1) else { return nil }
        return page.events[Int(sequence - page.first)]
    }
}
