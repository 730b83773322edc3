import HeraldDelivery
package import HeraldModel
import Synchronization

/// All live streams of events: a delegate of the multicast, called when events become durable. `@unchecked Sendable`
/// like its superclass: it adds no mutable state.
package final class EventStreams: LiveStreams<EventLog>, EventDelegate, @unchecked Sendable {
    package init(hub: Hub, format: StreamFormat<Event>) {
        super.init(
            hub: hub, log: EventLog(hub.committed.recentEvents, hub.committed.usage, pageBytes: hub.pageBytes),
            format: format)
    }

    package func published(_ batch: EventBatch) { wake() }
}

/// A live stream of events.
package typealias EventStream = LiveStream<EventSelection>

/// The log of events: memory has the recent events.
package final class EventLog: StreamLog {
    package typealias Page = EventBatch
    package typealias Interest = EventSelection

    private let recentEvents: RecentEvents
    private let usage: LogUsage
    package let pageBytes: Int

    init(_ recentEvents: RecentEvents, _ usage: LogUsage, pageBytes: Int) {
        self.recentEvents = recentEvents
        self.usage = usage
        self.pageBytes = pageBytes
    }

    package func count(of app: AppKey, after place: LogPosition) -> Int64 { usage.events(of: app, after: place) }
    package var erasures: Int { recentEvents.erasures.load(ordering: .acquiring) }

    package var end: LogPosition? { recentEvents.head }

    /// The recent events are always in memory.
    package func begin(head: LogPosition) {}
    package func streamsEnded() {}
    package func refresh(on thread: any StreamThread, _ done: @escaping @Sendable () -> Void) { done() }

    package func slice(after place: LogPosition, limit: Int) -> LogSlice<EventBatch> {
        switch recentEvents.slice(after: place, limit: limit) {
        case .events(let batch): .entries(batch)
        case .end: .end
        case .gone: .gone
        }
    }

    package func end(in reader: any StoreReader) throws(StoreError) -> LogPosition { recentEvents.head }

    package func page(after place: LogPosition, in reader: any StoreReader) throws(StoreError) -> EventBatch {
        try reader.events(after: place, limit: PageCache.eventsPerPage, maxBytes: pageBytes)
    }
}
