public import FoundationEssentials
import HeraldCore
public import HeraldModel
import HeraldRuntime

/// An event that an app publishes.
public struct NewEvent: Sendable {
    /// The event type, such as `order.placed`: dot-separated words, at most 128 characters.
    public var type: String
    /// The object that the event is about, such as `order:1001`: 1 to 256 characters.
    public var subject: String?
    /// The data: one JSON value in UTF-8.
    public var data: [UInt8]
    /// Prevents duplicates: an event whose id is already in the log is not published again. 1 to 128 visible ASCII
    /// characters except `"`, `,`, `\` and `~`. `nil`: Herald creates one.
    public var id: String?
    /// When the event happened, with millisecond precision; `nil` for now.
    public var time: Date?
    /// When to publish the event, at most 366 days ahead; `nil`, or a time in the past: at once. Until then it is in the schedule,
    /// and not in the log: see `scheduledEvents(about:limit:after:)` of the hub.
    public var deliveryDate: Date?
    /// The trace that the event belongs to, as in the header `traceparent` of W3C Trace Context: callbacks continue it. An
    /// invalid value is ignored.
    public var traceparent: String?
    /// Data of the vendors of the trace, as in the header `tracestate`; ignored without a ``traceparent``.
    public var tracestate: String?

    /// An event whose data is an encodable value.
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`.
    ///   - data: encoded as JSON.
    ///   - subject: the object that the event is about, such as `order:1001`.
    ///   - encoder: `nil` for one that writes dates as RFC 3339 text with milliseconds.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public init(
        _ type: String, _ data: some Encodable, subject: String? = nil, encoder: JSONEncoder? = nil
    ) throws(HubError) {
        do {
            self.init(type, subject: subject, json: [UInt8](try (encoder ?? .events).encode(data)))
        } catch {
            throw .invalid([FieldError("/data", "can't be encoded as JSON: \(error)")])
        }
    }

    /// An event whose data is JSON already, or without data.
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`.
    ///   - subject: the object that the event is about, such as `order:1001`.
    ///   - json: one JSON value in UTF-8; validated when the event is published.
    public init(_ type: String, subject: String? = nil, json: [UInt8] = Array("null".utf8)) {
        self.type = type
        self.subject = subject
        data = json
    }

    func draft(_ hub: Hub, _ now: Int64) -> EventDraft {
        // All times in the past mean now, and the event gets this time if it brings none.
        let due = deliveryDate.map { max(0, $0.milliseconds) }
        let event = Event(
            id: id ?? hub.ids.next("evt_", time: now), type: type, subject: subject,
            time: time?.milliseconds ?? due ?? now,
            attributes: TraceParent.attributes(traceparent, state: tracestate),
            data: data)
        return EventDraft(event: event, mayExist: id != nil, bringsTime: time != nil, deliverAt: due)
    }
}

// MARK: - The built-in families

extension NewEvent {
    /// `auth.logged_in`: a user has logged in.
    ///
    /// Herald stores the login status of users, publishes `auth.status_changed` if that has changed, and calls an
    /// `AuthEventsDelegate`.
    /// - Parameters:
    ///   - user: encoded as the `user` of the event's data. It needs an `id`: a string or an integer.
    ///   - encoder: as in ``init(_:_:subject:encoder:)``.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public static func loggedIn(_ user: some Encodable, encoder: JSONEncoder? = nil) throws(HubError) -> NewEvent {
        try NewEvent("auth.logged_in", ["user": user], encoder: encoder)
    }

    /// `auth.logged_out`: the user with this id has logged out. An event with the `user` is made as any other one:
    /// `NewEvent("auth.logged_out", ["user": user])`.
    /// - Parameter userID: as in the `id` of the user who had logged in.
    public static func loggedOut(userID: String) -> NewEvent {
        NewEvent("auth.logged_out", subject: AuthFamily.subject(ofUser: userID))
    }

    /// `app_state.changed`: the app has this state now.
    ///
    /// Herald adds the previous one, and calls a `StateDelegate`.
    /// - Parameters:
    ///   - state: encoded as the `state` of the event's data.
    ///   - encoder: as in ``init(_:_:subject:encoder:)``.
    /// - Throws: `HubError.invalid` if it can't be encoded.
    public static func appState(_ state: some Encodable, encoder: JSONEncoder? = nil) throws(HubError) -> NewEvent {
        try NewEvent("app_state.changed", ["state": state], encoder: encoder)
    }
}
