/// The tenant that events and delegates belong to. There is always `default`.
package struct AppKey: Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let `default` = AppKey(rawValue: 1)
}

/// A position in the event log: 1 for the first event, increasing without gaps. 0 is "before everything".
package typealias LogPosition = Int64

/// Something that happened, as it is in the log. Immutable, and shared by the recent events, all deliveries and all streams:
/// its bytes exist once in the process.
public final class Event: Sendable {
    package let app: AppKey
    /// Unique in the log: the publisher's, or `evt_` and a ULID. 1 to 128 visible ASCII characters, or the publisher's id with
    /// `~` and a digest when an event of another CloudEvents source has it already.
    public let id: String
    /// What happened, such as `order.placed`: dot-separated words, at most 128 characters.
    public let type: String
    /// Worked out once: the writer's thread asks several times.
    package let family: EventType.Family
    /// What the event is about, 1 to 256 characters, such as `order:1001`.
    public let subject: String?
    /// Milliseconds since 1970 UTC.
    package let time: Int64
    /// What came with the event and is no field of it, by name: `traceparent`, and of a CloudEvent its `source`,
    /// `dataschema` and extensions (see ``EventAttribute``). Names are lower case, values hold no control characters.
    package let attributes: [KeyValue]
    /// The one delegate that is told; `nil`: whoever wants it. An addressed event repeats the current state to a new
    /// delegate: nobody else is told, and lists leave it out.
    package let audience: DelegateKey?
    /// Who waits for the outcome of its deliveries. Only in memory.
    let watch: DeliveryWatch?
    /// The body of a callback in `standard` format, made once: `{"type":…,"timestamp":…,"data":…,"subject":…}`.
    package let body: [UInt8]
    /// Where `data` lies in `body`: the publisher's bytes, as they came.
    package let dataRange: Range<Int>

    /// - Parameters:
    ///   - data: one JSON value that the strict parser has accepted; copied.
    package convenience init(
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
    package convenience init(
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
    package var isErased: Bool { !attributes.isEmpty && attributes[0] == Self.erasedMark }

    /// No publisher can bring an attribute of this name.
    private static let erasedMark = KeyValue("herald.erased", "true")

    /// Its bytes in the store are not those that were written: what it said is lost, and it is sent to nobody. Only its place
    /// in the log is known for certain.
    package var isDamaged: Bool { !attributes.isEmpty && attributes[0] == Self.damagedMark }

    /// No publisher can bring an attribute of this name.
    private static let damagedMark = KeyValue("herald.damaged", "true")

    /// What stands in the place of a damaged event.
    /// - Parameters: app, id: those by which it was looked up, since what it says of itself can't be believed.
    package static func damaged(app: AppKey = .default, id: String = "damaged") -> Event {
        Event(
            app: app, id: id, type: "herald.event.damaged", subject: nil, time: 0, attributes: [damagedMark],
            data: Array("null".utf8))
    }

    /// The event without what it says: what is left in the log after an erasure.
    package func erased() -> Event {
        Event(
            app: app, id: id, type: type, subject: nil, time: time, attributes: [Self.erasedMark, sourceDigest],
            audience: audience, data: Array("null".utf8))
    }

    /// What the event says: one JSON value in UTF-8, the publisher's bytes as they came.
    public var data: ArraySlice<UInt8> { body[dataRange] }

    /// The value of an attribute of the event that is no field of it: of a CloudEvent its `source` and extensions, or
    /// `traceparent`.
    /// - Parameter name: in lower case.
    public func attribute(_ name: String) -> String? { attributes.first { $0.key == name }?.value }
}

/// Events that became durable together, in the order of the log.
public struct EventBatch: Sendable {
    /// The position of `events[0]`; the others follow without a gap.
    package let first: LogPosition
    /// At least one.
    public let events: [Event]

    package init(first: LogPosition, events: [Event]) {
        self.first = first
        self.events = events
    }

    /// The position of the last event.
    package var last: LogPosition { first + LogPosition(events.count) - 1 }
}
