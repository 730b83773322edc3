public import FoundationEssentials
public import HeraldCore
import HeraldRuntime

/// An event that an app publishes.
public struct NewEvent: Sendable {
    /// What happened, such as `order.placed`: dot-separated words, at most 128 characters.
    public var type: String
    /// What it is about, such as `order:1001`: 1 to 256 characters.
    public var subject: String?
    /// What it says: one JSON value in UTF-8, at most 200,000 values in it.
    public var data: [UInt8]
    /// Makes the publication repeatable: an event with an id that is in the log already is not published again. 1 to 128 visible
    /// ASCII characters other than `"`, `,`, `\` and `~`. `nil`: Herald makes one.
    public var id: String?
    /// When it happened, in milliseconds; `nil`: now.
    public var time: Date?

    /// An event with a value of yours as its data.
    /// - Parameters:
    ///   - type: what happened, such as `order.placed`.
    ///   - subject: what it is about, such as `order:1001`.
    ///   - data: written as JSON by `JSONEncoder`; dates as RFC 3339 text.
    /// - Throws: `EncodingError`.
    public init(_ type: String, subject: String? = nil, data: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .withoutEscapingSlashes
        self.init(type, subject: subject, json: [UInt8](try encoder.encode(data)))
    }

    /// An event with data that is JSON already, or without data.
    /// - Parameters:
    ///   - type: what happened, such as `order.placed`.
    ///   - subject: what it is about, such as `order:1001`.
    ///   - json: one JSON value in UTF-8; checked when the event is published.
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
    /// Publishes an event: returns once it is on disk and the delegates of the process have been called. Webhooks are called
    /// after that.
    ///
    /// ```swift
    /// try await hub.publish("order.placed", subject: "order:1001", data: order)
    /// ```
    /// - Parameters:
    ///   - type: what happened, such as `order.placed`: dot-separated words, at most 128 characters.
    ///   - subject: what it is about, 1 to 256 characters.
    ///   - data: written as JSON by `JSONEncoder`; dates as RFC 3339 text.
    /// - Returns: the event as it is in the log.
    /// - Throws: `WriteRefusal`; `EncodingError`. Nothing was published then.
    @discardableResult
    public func publish(_ type: String, subject: String? = nil, data: some Encodable) async throws -> PublishedEvent {
        let published = try await publish([NewEvent(type, subject: subject, data: data)])
        // As many as were handed in.
        return published[0]
    }

    /// Publishes events together, all or none, in their order: cheaper than one by one.
    /// - Parameter events: any number; none is allowed and does nothing.
    /// - Returns: what became of each, in their order.
    /// - Throws: `WriteRefusal`: `invalid` names each wrong field. Nothing was published then.
    @discardableResult
    public func publish(_ events: [NewEvent]) async throws(WriteRefusal) -> [PublishedEvent] {
        if events.isEmpty { return [] }
        let now = clock.wall()
        return try await publish(events.map { $0.draft(self, now) })
    }
}

extension Event {
    /// When it happened, to the millisecond.
    public var date: Date { Date(timeIntervalSince1970: Double(time) / 1000) }

    /// Reads the data as a value of yours.
    /// - Parameter type: read by `JSONDecoder`; dates are RFC 3339 text.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, data)
    }
}

extension EventUser {
    /// Reads the JSON object `user` of the event as a value of yours; the event without one reads as `null`.
    /// - Parameter type: read by `JSONDecoder`; dates are RFC 3339 text.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, data ?? Array("null".utf8))
    }
}

extension EventState {
    /// Reads the state as a value of yours.
    /// - Parameter type: read by `JSONDecoder`; dates are RFC 3339 text.
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
    /// The whole milliseconds before `milliseconds`, or the nearest number there is; what is no number counts as 0.
    fileprivate init(clampingMilliseconds milliseconds: Double) {
        // A `Date` can't hold most milliseconds exactly.
        let rounded = milliseconds.rounded()
        self = rounded.isNaN ? 0 : Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
    }
}
