import HeraldRuntime

/// Pages of the log for lanes that lag behind the tail: shared by all lanes of a loop, asked for once, bounded.
///
/// Owned by one delivery loop; the reading itself happens on a reader's thread.
typealias PageCache = LogPageCache<EventBatch>

/// Pages of a log. Live streams have some as well, in place of lanes. Owned by one thread.
struct LogPageCache<Page: LogPage> {
    static var eventsPerPage: Int { 256 }
    static var bytesPerPage: Int { 1 << 20 }
    /// Pages kept, and reads asked for at once.
    static var maxPages: Int { 32 }
    static var maxReads: Int { 4 }

    /// Oldest first.
    private var pages: [Page] = []
    /// Who waits for the events after a position. The positions are being read, or wait for a read to end.
    private var waiters: [LogPosition: Waiters] = [:]
    private var reading: Set<LogPosition> = []
    private var queued = FIFO<LogPosition>()

    /// In the order in which they came, each once.
    private struct Waiters {
        private(set) var delegates: [DelegateKey] = []
        private var known: Set<DelegateKey> = []

        mutating func append(_ delegate: DelegateKey) {
            if known.insert(delegate).inserted { delegates.append(delegate) }
        }
    }

    /// The page with what comes next after a place, when it is here.
    mutating func page(after place: LogPosition) -> Page? {
        // The page used last is searched first.
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

    /// Forgets the pages that hold one of these events.
    mutating func forget(_ sequences: Set<LogPosition>) {
        pages.removeAll { page in sequences.contains { page.after < $0 && $0 <= page.last } }
    }

    /// Forgets all pages; what is being read stays asked for.
    mutating func forgetPages() { pages.removeAll() }

    /// Notes that a lane needs the event at `sequence`.
    /// - Returns: the position after which to read now, when a read is to be started.
    mutating func want(_ sequence: LogPosition, for delegate: DelegateKey) -> LogPosition? {
        let after = sequence - 1
        waiters[after, default: Waiters()].append(delegate)
        if reading.contains(after) || queued.contains(after) { return nil }
        if reading.count >= Self.maxReads {
            queued.append(after)
            return nil
        }
        reading.insert(after)
        return after
    }

    /// A read has ended.
    /// - Parameter page: `nil`: it failed.
    /// - Returns: who waited for it, and the position after which to read next, if any.
    mutating func arrived(after: LogPosition, _ page: Page?) -> (delegates: [DelegateKey], readNext: LogPosition?) {
        reading.remove(after)
        if let page, page.last > page.after {
            if pages.count >= Self.maxPages { pages.removeFirst() }
            pages.append(page)
        }
        let delegates = waiters.removeValue(forKey: after)?.delegates ?? []
        guard let next = queued.popFirst() else { return (delegates, nil) }
        reading.insert(next)
        return (delegates, next)
    }
}

extension LogPageCache<EventBatch> {
    /// The event, when its page is here.
    mutating func event(_ sequence: LogPosition) -> Event? {
        guard let page = page(after: sequence - 1) else { return nil }
        return page.events[Int(sequence - page.first)]
    }
}
