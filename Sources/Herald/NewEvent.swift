public import FoundationEssentials
public import HeraldCore
import HeraldRuntime

/// An event that an app publishes.
public struct NewEvent: Sendable {
    /// The event type, such as `order.placed`: dot-separated words, at most 128 characters.
    public var type: String
    /// What the event is about, such as `order:1001`: 1 to 256 characters.
    public var subject: String?
    /// The data: one JSON value in UTF-8, with at most 200,000 values in it.
    public var data: [UInt8]
    /// Prevents duplicates: an event whose id is already in the log is not published again. 1 to 128 visible ASCII
    /// characters except `"`, `,`, `\` and `~`. `nil`: Herald creates one.
    public var id: String?
    /// When the event happened, with millisecond precision; `nil` for now.
    public var time: Date?

    /// An event whose data is an encodable value.
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`.
    ///   - subject: what the event is about, such as `order:1001`.
    ///   - data: encoded as JSON by `JSONEncoder`; dates as RFC 3339 text.
    /// - Throws: `EncodingError`.
    public init(_ type: String, subject: String? = nil, data: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .withoutEscapingSlashes
        self.init(type, subject: subject, json: [UInt8](try encoder.encode(data)))
    }

    /// An event whose data is JSON already, or without data.
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`.
    ///   - subject: what the event is about, such as `order:1001`.
    ///   - json: one JSON value in UTF-8; validated when the event is published.
    public init(_ type: String, subject: String? = nil, json: [UInt8] = Array("null".utf8)) {
        self.type = type
        self.subject = subject
        data = json
    }

    fileprivate func draft(_ hub: Hub, _ now: Int64) -> EventDraft {
        let event = Event(
            id: id ?? hub.ids.next("evt_", time: now), type: type, subject: subject,
            time: time.map { Int64(clampingMilliseconds: $0.timeIntervalSince1970 * 1000) } ?? now, data: data)
        return EventDraft(event: event, mayExist: id != nil)
    }
}

extension Hub {
    /// Publishes an event. Returns when it is on disk and the delegates in the process were called. Webhooks are called
    /// afterwards.
    ///
    /// ```swift
    /// try await hub.publish("order.placed", subject: "order:1001", data: order)
    /// ```
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`: dot-separated words, at most 128 characters.
    ///   - subject: what the event is about, 1 to 256 characters.
    ///   - data: encoded as JSON by `JSONEncoder`; dates as RFC 3339 text.
    /// - Returns: the event in the log.
    /// - Throws: `WriteRefusal` or `EncodingError`; nothing was published then.
    @discardableResult
    public func publish(_ type: String, subject: String? = nil, data: some Encodable) async throws -> PublishedEvent {
        let published = try await publish([NewEvent(type, subject: subject, data: data)])
        // One result for each event.
        return published[0]
    }

    /// Publishes events together, all or none, in their order; cheaper than one by one.
    /// - Parameter events: any number; an empty array does nothing.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `WriteRefusal`; `invalid` lists each invalid field. Nothing was published then.
    @discardableResult
    public func publish(_ events: [NewEvent]) async throws(WriteRefusal) -> [PublishedEvent] {
        if events.isEmpty { return [] }
        let now = clock.wall()
        return try await publish(events.map { $0.draft(self, now) })
    }
}

extension Event {
    /// When the event happened, with millisecond precision.
    public var date: Date { Date(timeIntervalSince1970: Double(time) / 1000) }

    /// Decodes the data.
    /// - Parameter type: decoded by `JSONDecoder`; dates are RFC 3339 text.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, data)
    }
}

extension EventUser {
    /// Decodes the JSON object `user` of the event; an event without one decodes as `null`.
    /// - Parameter type: decoded by `JSONDecoder`; dates are RFC 3339 text.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, data ?? Array("null".utf8))
    }
}

extension EventState {
    /// Decodes the state.
    /// - Parameter type: decoded by `JSONDecoder`; dates are RFC 3339 text.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, json)
    }
}

private func decodeJSON<Value: Decodable>(_ type: Value.Type, _ json: some Collection<UInt8>) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(type, from: Data(json))
}

extension WebhookDelegate {
    /// When it was registered.
    public var registrationDate: Date { Date(timeIntervalSince1970: Double(createdAt) / 1000) }
}

extension Int64 {
    /// `milliseconds` rounded down and clamped to 64 bits; NaN becomes 0.
    fileprivate init(clampingMilliseconds milliseconds: Double) {
        // A `Date` can't represent most milliseconds exactly.
        let rounded = milliseconds.rounded()
        self = rounded.isNaN ? 0 : Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
