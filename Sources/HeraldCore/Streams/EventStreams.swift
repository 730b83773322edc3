import Synchronization

/// All clients that listen to events: a delegate of the multicast, told as they become durable. It may cross threads as
/// what it inherits from does: it adds nothing that changes.
public final class EventStreams: LiveStreams<EventLog>, EventDelegate, @unchecked Sendable {
    public init(hub: Hub, format: StreamFormat<Event>) {
        super.init(hub: hub, log: EventLog(hub.recentEvents, hub.usage), format: format)
    }

    public func published(_ batch: EventBatch) { wake() }
}

/// A client that listens to events.
public typealias EventStream = LiveStream<EventSelection>

/// The log of events: memory has its tail.
public final class EventLog: StreamLog {
    public typealias Page = EventBatch
    public typealias Interest = EventSelection

    private let recentEvents: RecentEvents
    private let usage: LogUsage

    init(_ recentEvents: RecentEvents, _ usage: LogUsage) {
        self.recentEvents = recentEvents
        self.usage = usage
    }

    public func count(of app: AppKey, after place: LogPosition) -> Int64 { usage.events(of: app, after: place) }
    public var erasures: Int { recentEvents.erasures.load(ordering: .acquiring) }

    public var end: LogPosition? { recentEvents.head }

    /// The tail is always there.
    public func begin(head: LogPosition) {}
    public func rest() {}
    public func refresh(on thread: any StreamThread, _ done: @escaping @Sendable () -> Void) { done() }

    public func slice(after place: LogPosition, limit: Int) -> LogSlice<EventBatch> {
        switch recentEvents.slice(after: place, limit: limit) {
        case .events(let batch): .entries(batch)
        case .end: .end
        case .gone: .gone
        }
    }

    public func end(in reader: any StoreReader) throws(StoreError) -> LogPosition { recentEvents.head }

    public func page(after place: LogPosition, in reader: any StoreReader) throws(StoreError) -> EventBatch {
        try reader.events(after: place, limit: PageCache.eventsPerPage, maxBytes: PageCache.bytesPerPage)
    }
}
