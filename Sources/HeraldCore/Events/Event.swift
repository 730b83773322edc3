/// The tenant that events and delegates belong to. There is always `default`.
public struct AppKey: Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    public static let `default` = AppKey(rawValue: 1)
}

/// A position in the event log: 1 for the first event, increasing without gaps. 0 is "before everything".
public typealias LogPosition = Int64

/// A fact that was posted. Immutable, and shared by the log's tail, all deliveries and all streams: its bytes exist once
/// in the process.
public final class Event: Sendable {
    public let app: AppKey
    /// Unique in its app: see ``EventID``. `evt_` and a ULID when the service made it.
    public let id: String
    /// See ``EventType``.
    public let type: String
    /// Worked out once: the writer's thread asks several times.
    public let family: EventType.Family
    /// What the event is about, ≤ 256 characters.
    public let subject: String?
    /// Milliseconds since 1970 UTC.
    public let time: Int64
    /// What came with the event and is no field of it, by name: `traceparent`, and of a CloudEvent its `source`,
    /// `dataschema` and extensions (see ``EventAttribute``). Names are lower case, values hold no control characters.
    public let attributes: [KeyValue]
    /// The one delegate that is told; `nil`: whoever wants it. An addressed event repeats the current state to a new
    /// delegate: nobody else is told, and lists leave it out.
    public let audience: DelegateKey?
    /// Who waits for the outcome of its deliveries. Only in memory.
    let watch: DeliveryWatch?
    /// The body of a callback in `standard` format, made once: `{"type":…,"timestamp":…,"data":…,"subject":…}`.
    public let body: [UInt8]
    /// Where `data` lies in `body`: the publisher's bytes, as they came.
    public let dataRange: Range<Int>

    /// - Parameters:
    ///   - data: one JSON value that the strict parser has accepted; copied.
    public convenience init(
        app: AppKey = .default, id: String, type: String, subject: String?, time: Int64,
        attributes: [KeyValue] = [], audience: DelegateKey? = nil, watch: DeliveryWatch? = nil,
        data: UnsafeBufferPointer<UInt8>
    ) {
        self.init(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes, audience: audience,
            watch: watch, encoded: StandardBody.encode(type: type, subject: subject, time: time, data: data))
    }

    /// - Parameters:
    ///   - data: one JSON value that the strict parser has accepted; copied.
    public convenience init(
        app: AppKey = .default, id: String, type: String, subject: String?, time: Int64,
        attributes: [KeyValue] = [], audience: DelegateKey? = nil, watch: DeliveryWatch? = nil,
        data: some Collection<UInt8>
    ) {
        func encode(_ data: UnsafeBufferPointer<UInt8>) -> (body: [UInt8], dataRange: Range<Int>) {
            StandardBody.encode(type: type, subject: subject, time: time, data: data)
        }
        self.init(
            app: app, id: id, type: type, subject: subject, time: time, attributes: attributes, audience: audience,
            watch: watch,
            encoded: data.withContiguousStorageIfAvailable(encode) ?? Array(data).withUnsafeBufferPointer(encode))
    }

    private init(
        app: AppKey, id: String, type: String, subject: String?, time: Int64, attributes: [KeyValue],
        audience: DelegateKey?, watch: DeliveryWatch?, encoded: (body: [UInt8], dataRange: Range<Int>)
    ) {
        self.app = app
        self.id = id
        self.type = type
        family = EventType.Family(of: type)
        self.subject = subject
        self.time = time
        self.attributes = attributes
        self.audience = audience
        self.watch = watch
        (body, dataRange) = encoded
    }

    /// Somebody had what it says erased: it is told to nobody any more.
    public var isErased: Bool { !attributes.isEmpty && attributes[0] == Self.erasedMark }

    /// No publisher can bring an attribute of this name.
    private static let erasedMark = KeyValue("herald.erased", "true")

    /// The event without what it says: what is left in the log after an erasure.
    public func erased() -> Event {
        Event(
            app: app, id: id, type: type, subject: nil, time: time, attributes: [Self.erasedMark, sourceDigest],
            audience: audience, data: Array("null".utf8))
    }

    /// The publisher's bytes.
    public var data: ArraySlice<UInt8> { body[dataRange] }

    /// The value of one of the attributes.
    public func attribute(_ name: String) -> String? { attributes.first { $0.key == name }?.value }
}

/// Events that became durable together, in the order of the log.
public struct EventBatch: Sendable {
    /// The sequence of `events[0]`; the others follow without a gap.
    public let first: LogPosition
    public let events: [Event]

    public init(first: LogPosition, events: [Event]) {
        self.first = first
        self.events = events
    }

    /// The sequence of the last event, or `first - 1` when there is none.
    public var last: LogPosition { first + LogPosition(events.count) - 1 }
}
