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
    ///   - data: encoded as JSON by `JSONEncoder`; dates as RFC 3339 text.
    ///   - subject: what the event is about, such as `order:1001`.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public init(_ type: String, _ data: some Encodable, subject: String? = nil) throws(HubError) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .withoutEscapingSlashes
        do {
            self.init(type, subject: subject, json: [UInt8](try encoder.encode(data)))
        } catch {
            throw .invalid([FieldError("/data", "can't be encoded as JSON: \(error)")])
        }
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
            time: time?.milliseconds ?? now, data: data)
        return EventDraft(event: event, mayExist: id != nil)
    }
}

// MARK: - The built-in families

extension NewEvent {
    /// `auth.logged_in`: a user has logged in.
    ///
    /// Herald keeps who is logged in, publishes `auth.status_changed` if that has changed, and calls an
    /// `AuthEventsDelegate`.
    /// - Parameter user: encoded as the `user` of the event's data. It needs an `id`: a string or an integer.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public static func loggedIn(_ user: some Encodable) throws(HubError) -> NewEvent {
        try NewEvent("auth.logged_in", ["user": user])
    }

    /// `auth.logged_out`: a user has logged out.
    /// - Parameter user: encoded as the `user` of the event's data. It needs an `id`: a string or an integer.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public static func loggedOut(_ user: some Encodable) throws(HubError) -> NewEvent {
        try NewEvent("auth.logged_out", ["user": user])
    }

    /// `auth.logged_out`: the user with this id has logged out.
    /// - Parameter userID: as in the `id` of the user who had logged in.
    public static func loggedOut(userID: String) -> NewEvent {
        NewEvent("auth.logged_out", subject: AuthFamily.subject(ofUser: userID))
    }

    /// `app_state.changed`: the app has this state now.
    ///
    /// Herald adds the previous one, and calls a `StateDelegate`.
    /// - Parameter state: encoded as the `state` of the event's data.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public static func appState(_ state: some Encodable) throws(HubError) -> NewEvent {
        try NewEvent("app_state.changed", ["state": state])
    }
}

// MARK: - Publishing

extension Hub {
    /// Publishes an event. Returns when it is on disk and the delegates in the process were called. Webhooks are called
    /// afterwards.
    ///
    /// ```swift
    /// try await hub.publish("order.placed", order, subject: "order:1001")
    /// ```
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`: dot-separated words, at most 128 characters.
    ///   - data: encoded as JSON by `JSONEncoder`; dates as RFC 3339 text.
    ///   - subject: what the event is about, 1 to 256 characters.
    /// - Returns: the event in the log.
    /// - Throws: `HubError`; nothing was published then.
    @discardableResult
    public func publish(
        _ type: String, _ data: some Encodable, subject: String? = nil
    ) async throws(HubError) -> PublishedEvent {
        try await publish(try NewEvent(type, data, subject: subject))
    }

    /// Publishes an event, like ``publish(_:_:subject:)``.
    ///
    /// ```swift
    /// try await hub.publish(.loggedIn(user))
    /// ```
    /// - Parameter event: with an id or a time of its own, data that is JSON already, or of a built-in family.
    /// - Returns: the event in the log.
    /// - Throws: `HubError`; nothing was published then.
    @discardableResult
    public func publish(_ event: NewEvent) async throws(HubError) -> PublishedEvent {
        // One result for each event.
        try await publish([event])[0]
    }

    /// Publishes events together, all or none, in their order; cheaper than one by one.
    /// - Parameter events: any number; an empty array does nothing.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `HubError`; `invalid` lists each invalid field. Nothing was published then.
    @discardableResult
    public func publish(_ events: [NewEvent]) async throws(HubError) -> [PublishedEvent] {
        if events.isEmpty { return [] }
        let now = clock.wall()
        do throws(WriteRefusal) {
            return try await publish(events.map { $0.draft(self, now) })
        } catch {
            throw error.error
        }
    }
}

extension Event {
    /// When the event happened, with millisecond precision.
    public var date: Date { Date(milliseconds: time) }

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
