import HeraldJSON
import HeraldModel

/// The log as one delivery loop reads it: the position up to which it has routed, the recent events in memory without a
/// lock, and pages of the store for lanes that are behind. Confined to one thread.
final class LoopLog {
    private let recentEvents: RecentEvents
    /// Requests the page after a position, which is passed to `accept`.
    let readPage: (LogPosition) -> Void
    private let timers: LoopTimers
    /// Every caught-up lane has been offered every event up to here.
    private(set) var routed: LogPosition
    private var recent: EventWindow
    private var pages: PageCache
    private var routingWaitsForPage = false
    /// The first recent event at the time when the next event to route was no longer in memory.
    private var tailBegins: LogPosition = 0
    /// Erased events. A page that was read before an erasure may arrive after it, and so may the outcome of an attempt.
    private var erased = ErasedEvents()
    private let parser = EventDataParser()
    /// The last event that was read, as filters see it.
    private var view: EventView?
    /// The steps of filters in the views before it.
    private var stepsOfOthers = 0

    init(
        settled: LogPosition, limits: LoopLimits, recentEvents: RecentEvents, timers: LoopTimers,
        readPage: @escaping (LogPosition) -> Void
    ) {
        self.recentEvents = recentEvents
        self.readPage = readPage
        self.timers = timers
        routed = settled
        pages = PageCache(maxBytes: PageCache.maxPages * limits.pageBytes)
        recent = EventWindow(after: settled, maxEvents: limits.recentEvents, maxBytes: limits.recentBytes)
    }

    /// The first event in memory.
    var firstRecent: LogPosition { recent.first }

    // MARK: Routing

    /// Up to `limit` new events; `nil` if there are none, or if they must come from a page of the store.
    func news(limit: Int) -> EventBatch? {
        switch recentEvents.slice(after: routed, limit: limit) {
        case .end: return nil
        case .events(let batch): return batch
        case .gone(let first):
            tailBegins = first
            if routingWaitsForPage { return nil }
            // After a restart, or if this loop was slower than the recent events are long: the events are in the store.
            routingWaitsForPage = true
            readPage(routed)
            return nil
        }
    }

    /// Advances to the next event.
    /// - Returns: its position.
    func route(_ event: Event) -> LogPosition {
        recent.append(event)
        routed += 1
        return routed
    }

    /// Skips positions that are no longer in the log.
    func skip(to sequence: LogPosition) {
        recent.reset(after: sequence)
        routed = sequence
    }

    /// The watches of publishers that wait for the outcomes of these events.
    func watches(of batch: EventBatch) -> [LogPosition: DeliveryWatch] { recentEvents.watches(of: batch) }

    // MARK: Reading

    func event(at sequence: LogPosition) -> Event? {
        if sequence >= recent.first && sequence <= recent.last { return recent[sequence] }
        return pages.event(sequence)
    }

    /// The steps that filters have taken since the start.
    var filterSteps: Int { stepsOfOthers + (view?.steps ?? 0) }

    /// The event as filters see it. Parsed once for all lanes.
    func view(of event: Event) -> EventView {
        if let view, view.event === event { return view }
        let made = EventView(event, parser)
        stepsOfOthers += view?.steps ?? 0
        view = made
        return made
    }

    /// The event as filters see it, until they have taken so many steps since the start; then a view that all filters match.
    func view(of event: Event, untilSteps limit: Int) -> EventView {
        filterSteps < limit ? view(of: event) : EventView(event, within: WorkBudget(steps: 0))
    }

    /// Requests the page that contains an event for a lane, which `keep` returns when the page has arrived.
    /// - Parameter app: `nil` for lanes of several apps.
    func read(_ sequence: LogPosition, for key: DelegateKey, of app: AppKey?) {
        if let after = pages.want(sequence, for: key, of: app) { readPage(after) }
    }

    /// Called with the page after a position; `nil` if it could not be read.
    /// - Returns: the page without events erased since it was read; `nil` if it is requested again.
    func accept(_ page: EventBatch?, after: LogPosition) -> EventBatch? {
        if let page { return erased.applied(to: page) }
        timers.insert(.readAgain(after: after), due: timers.now + LoopTimers.pause)
        return nil
    }

    /// Whether routing waited for this page.
    /// - Returns: the first event to route, which may follow events removed by retention; `nil` if routing did not wait
    ///   for it.
    func firstToRoute(in page: EventBatch, after: LogPosition) -> LogPosition? {
        guard routingWaitsForPage, after == routed else { return nil }
        routingWaitsForPage = false
        return page.events.isEmpty ? tailBegins : page.first
    }

    /// Caches a page.
    /// - Returns: the delegates whose lanes waited for it.
    func keep(_ page: EventBatch, after: LogPosition) -> [DelegateKey] {
        let (delegates, readNext) = pages.arrived(after: after, page)
        if let readNext { readPage(readNext) }
        return delegates
    }

    /// Whether an event was erased lately. The writer leaves out its outcomes.
    func hasErased(_ event: LogPosition) -> Bool { erased.contains(event) }

    /// Removes erased events from the cached pages and from pages that arrive later.
    func erase(_ events: Set<LogPosition>, of app: AppKey) {
        erased.insert(events, of: app)
        recent.erase(events)
        pages.forget(events)
        view = nil
    }
}
