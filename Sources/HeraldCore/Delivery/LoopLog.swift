/// The log as one delivery loop reads it: what it has routed, the end of it in memory without a lock, and pages of the store
/// for lanes that lag behind. One thread.
final class LoopLog {
    private let recentEvents: RecentEvents
    /// Asks for the page after a position; the answer comes to `arrived`.
    private let readPage: (LogPosition) -> Void
    private let timers: LoopTimers
    /// Every lane that is caught up has been offered everything up to here.
    private(set) var routed: LogPosition
    private var recent: EventWindow
    private var pages = PageCache()
    private var routingWaitsForPage = false
    /// Where the tail began when it had no longer what this loop was to route next.
    private var tailBegins: LogPosition = 0
    /// Pages that were read before an erasure may come after it.
    private var erased = ErasedEvents()
    private let parser = EventDataParser()
    /// The event that was looked at last, as filters see it.
    private var view: EventView?

    init(
        settled: LogPosition, windowEvents: Int, recentEvents: RecentEvents, timers: LoopTimers,
        readPage: @escaping (LogPosition) -> Void
    ) {
        self.recentEvents = recentEvents
        self.readPage = readPage
        self.timers = timers
        routed = settled
        recent = EventWindow(after: settled, maxEvents: windowEvents, maxBytes: 16 << 20)
    }

    /// The first event that is in memory.
    var firstRecent: LogPosition { recent.first }

    // MARK: Routing

    /// New events, at most so many; `nil`: there are none, or only a page from the store can bring them.
    func news(limit: Int) -> EventBatch? {
        switch recentEvents.slice(after: routed, limit: limit) {
        case .end: return nil
        case .events(let batch): return batch
        case .gone(let first):
            tailBegins = first
            if routingWaitsForPage { return nil }
            // After a restart, or when this loop was slower than the tail is long: the store has them.
            routingWaitsForPage = true
            readPage(routed)
            return nil
        }
    }

    /// The next event is being routed.
    /// - Returns: its position.
    func route(_ event: Event) -> LogPosition {
        recent.append(event)
        routed += 1
        return routed
    }

    /// Nothing up to here is in the log any more.
    func skip(to sequence: LogPosition) {
        recent.reset(after: sequence)
        routed = sequence
    }

    // MARK: Reading

    func event(at sequence: LogPosition) -> Event? {
        if sequence >= recent.first && sequence <= recent.last { return recent[sequence] }
        return pages.event(sequence)
    }

    /// The event as filters see it, parsed once for all lanes.
    func view(of event: Event) -> EventView {
        if let view, view.event === event { return view }
        let made = EventView(event, parser)
        view = made
        return made
    }

    /// Asks for the page with an event, for a lane that is told when it is there.
    func read(_ sequence: LogPosition, for key: DelegateKey) {
        if let after = pages.want(sequence, for: key) { readPage(after) }
    }

    func readAgain(after: LogPosition) { readPage(after) }

    /// The page after a position was read; `nil` when it could not be.
    /// - Returns: the page without what was erased since; `nil`: it is asked for once more.
    func accept(_ page: EventBatch?, after: LogPosition) -> EventBatch? {
        if let page { return erased.applied(to: page) }
        timers.insert(.readAgain(after: after), due: timers.now + LoopTimers.pause)
        return nil
    }

    /// Whether routing waited for this page.
    /// - Returns: the first event to route; retention may have removed what lay before it. `nil`: it did not wait for it.
    func firstToRoute(in page: EventBatch, after: LogPosition) -> LogPosition? {
        guard routingWaitsForPage, after == routed else { return nil }
        routingWaitsForPage = false
        return page.events.isEmpty ? tailBegins : page.first
    }

    /// Keeps a page.
    /// - Returns: the delegates whose lanes waited for it.
    func keep(_ page: EventBatch, after: LogPosition) -> [DelegateKey] {
        let (delegates, readNext) = pages.arrived(after: after, page)
        if let readNext { readPage(readNext) }
        return delegates
    }

    /// What these events say is to be told to nobody any more.
    func erase(_ events: Set<LogPosition>) {
        erased.insert(events)
        recent.erase(events)
        pages.forget(events)
        view = nil
    }
}
