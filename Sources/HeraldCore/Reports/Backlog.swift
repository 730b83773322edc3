package import HeraldDelivery
package import HeraldModel

/// The events that a webhook will still be sent: matching events after its position.
package struct Backlog: Equatable, Sendable {
    package var events: Int64 = 0
    /// Not all events were read; the result is extrapolated.
    package var isEstimate = false
    /// The time of the oldest of them, as a lower bound, in milliseconds since 1970 UTC; `nil` if there is none.
    package var oldest: Int64?

    /// An estimate without reading events: counts all events of the app after a position.
    package init(unseenAfter place: LogPosition, of app: AppKey, in hub: Hub) {
        events = hub.committed.usage.events(of: app, after: place)
        isEstimate = events > 0
    }

    /// The backlog after the events that the lane has read.
    package init(unseen lane: LaneSnapshots.Entry?, of app: AppKey, in hub: Hub) {
        if let next = lane?.next { self.init(unseenAfter: next - 1, of: app, in: hub) } else { self.init() }
    }

    package init() {}
}

/// Counts backlogs for one response by reading the events. One reader's thread.
///
/// The work is bounded for any number of delegates: the least behind are counted first, each gets an equal share of the
/// remaining work, and beyond that the count is an estimate.
package final class BacklogCounter {
    /// A lane with a backlog.
    package typealias Lane = (delegate: WebhookDelegate, entry: LaneSnapshots.Entry)

    /// Events of its app that are read for one delegate.
    package static let maxEvents: Int64 = 10_000
    /// Events that are read for one response; the work of filters is added.
    private static let maxSteps = 250_000
    /// Steps of a filter that take the time of an event.
    private static let filterStepsPerStep = 8
    /// Pages that are read from the store for one response.
    private static let maxReads = 80
    private static let page = 256
    private static let pageBytes = 256 << 10

    private let hub: Hub
    private let reader: (any StoreReader)?
    private let head: LogPosition
    private var steps = BacklogCounter.maxSteps
    private var reads = BacklogCounter.maxReads
    private var pages: [LogPosition: EventBatch] = [:]
    /// The bytes of the events in `pages` that the store has read.
    private(set) var bytes = 0
    private var stretches: [AppKey: [ClosedRange<LogPosition>]] = [:]

    /// - Parameter reader: if `nil`, only events in memory are read.
    package init(_ hub: Hub, _ reader: (any StoreReader)?) {
        self.hub = hub
        self.reader = reader
        head = hub.head
    }

    /// The backlogs of delegates that are behind.
    package func count(_ lanes: [Lane]) throws -> [DelegateKey: Backlog] {
        var behind: [(lane: Lane, next: LogPosition, events: Int64)] = []
        for lane in lanes {
            guard let next = lane.entry.next else { continue }
            behind.append((lane, next, hub.committed.usage.events(of: lane.delegate.app, after: next - 1)))
        }
        behind.sort { $0.events < $1.events }
        var counts: [DelegateKey: Backlog] = [:]
        for (index, (lane, next, _)) in behind.enumerated() {
            counts[lane.delegate.key] = try count(
                lane.delegate, after: max(next - 1, lane.delegate.floor), through: head, without: lane.entry.ahead,
                steps: steps / (behind.count - index))
        }
        return counts
    }

    /// The backlog of one delegate.
    package func count(_ delegate: WebhookDelegate) throws -> Backlog {
        guard let entry = hub.lane(of: delegate) else { return Backlog() }
        return try count([(delegate, entry)])[delegate.key] ?? Backlog()
    }

    /// The backlog of a pull delegate that is moved to a position.
    package func count(_ delegate: WebhookDelegate, movedTo place: LogPosition) throws -> Backlog {
        try count(delegate, after: place, through: head, without: [], steps: steps)
    }

    /// The backlog of a replay. Deliveries with a row of their own are not part of it.
    package func count(_ delegate: WebhookDelegate, after place: LogPosition, through last: LogPosition) throws
        -> Backlog
    {
        guard place < last else { return Backlog() }
        var rows = DeliveryQuery([.retrying], to: delegate)
        rows.events = place + 1...last
        rows.limit = DeliveryWrite.maxDeliveries
        let waiting = try reader.map { try $0.search(rows).rows.map(\.event) } ?? []
        return try count(delegate, after: place, through: last, without: Set(waiting), steps: steps)
    }

    private func count(
        _ delegate: WebhookDelegate, after place: LogPosition, through last: LogPosition,
        without ahead: Set<LogPosition>,
        steps allowance: Int
    ) throws -> Backlog {
        let end = steps - allowance
        var place = place
        var backlog = Backlog()
        var seen: Int64 = 0
        var lastTime: Int64?
        for stretch in stretches(of: delegate.app) where stretch.upperBound > place && stretch.lowerBound <= last {
            place = max(place, stretch.lowerBound - 1)
            while place < min(stretch.upperBound, last) {
                guard seen < Self.maxEvents, steps > end, let batch = try batch(after: place) else {
                    return estimate(backlog, delegate, after: place, through: last, seen: seen, lastTime)
                }
                let skipped = max(0, Int(place + 1 - batch.first))
                if batch.events.count <= skipped { return backlog }
                for (offset, event) in batch.events.enumerated().dropFirst(skipped) {
                    guard place < last, seen < Self.maxEvents, steps > end else { break }
                    place = batch.first + LogPosition(offset)
                    guard place <= last else { break }
                    steps -= 1
                    guard event.app == delegate.app else { continue }
                    seen += 1
                    lastTime = event.time
                    guard !ahead.contains(place), wants(event, delegate) else { continue }
                    backlog.events += 1
                    if backlog.oldest == nil { backlog.oldest = event.time }
                }
            }
        }
        return backlog
    }

    /// Extrapolates from the events before a position to those after it; if none were read, from the newest events.
    private func estimate(
        _ known: Backlog, _ delegate: WebhookDelegate, after place: LogPosition, through last: LogPosition, seen: Int64,
        _ lastTime: Int64?
    ) -> Backlog {
        var backlog = known
        let usage = hub.committed.usage
        let rest = max(0, usage.events(of: delegate.app, after: place) - usage.events(of: delegate.app, after: last))
        guard rest > 0 else { return backlog }
        var (wanted, looked) = (known.events, seen)
        if looked == 0, steps > 0,
            let newest = hub.recentEvents(after: max(place, head - LogPosition(Self.page)), limit: Self.page)
        {
            for event in newest.events where event.app == delegate.app && steps > 0 {
                steps -= 1
                looked += 1
                if wants(event, delegate) { wanted += 1 }
            }
        }
        let share = looked > 0 ? Double(wanted) / Double(looked) : 1
        backlog.events += Int64((Double(rest) * share).rounded())
        backlog.isEstimate = true
        if backlog.events > 0, backlog.oldest == nil { backlog.oldest = lastTime }
        return backlog
    }

    private func wants(_ event: Event, _ delegate: WebhookDelegate) -> Bool {
        let view = EventView(event)
        defer { steps -= view.steps / Self.filterStepsPerStep }
        return delegate.selection.matches(view)
    }

    /// Blocks of the log that contain events of the app, ascending.
    private func stretches(of app: AppKey) -> [ClosedRange<LogPosition>] {
        if let known = stretches[app] { return known }
        let found = hub.committed.usage.stretches(of: app)
        stretches[app] = found
        return found
    }

    /// Events from a position on, shared by all delegates; `nil` if too much was read already.
    private func batch(after place: LogPosition) throws -> EventBatch? {
        let start = place - place % LogPosition(Self.page)
        for first in [start, place] {
            if let known = pages[first], known.last > place { return known }
        }
        // A page of large events ends early; then another page starts at this position.
        let first = pages[start] == nil ? start : place
        var found = hub.recentEvents(after: first, limit: Self.page)
        if found == nil, reads > 0, let reader {
            reads -= 1
            let read = try reader.events(after: first, limit: Self.page, maxBytes: Self.pageBytes)
            let more = read.events.reduce(0) { $0 + $1.body.count }
            bytes += more
            // The events of a list are in memory four times, these once.
            if bytes > 4 * hub.maxListBytes {
                // Another delegate reads them again, from its own position.
                pages = pages.mapValues { EventBatch(first: $0.first, events: []) }
                bytes = more
            }
            found = read
        }
        guard let found else { return nil }
        pages[first] = found
        return found.events.isEmpty || found.last > place || first == place ? found : try batch(after: place)
    }
}

extension LogUsage {
    /// The fraction of its part of the log that a replay has read, 0 to 1, measured in events of its app.
    func progress(of replay: Replay, in app: AppKey) -> Double {
        let behind = events(of: app, after: replay.until)
        let all = events(of: app, after: replay.start) - behind
        let left = events(of: app, after: replay.cursor) - behind
        guard all > 0 else { return 1 }
        return (min(max(0, Double(all - left) / Double(all)), 1) * 1000).rounded() / 1000
    }
}
