public import FoundationEssentials
public import HeraldCore
public import HeraldModel
import HeraldRuntime

extension Hub {
    /// Publishes an event. Returns when it is on disk and the delegates in the process were called. Webhooks are called
    /// afterwards.
    ///
    /// If too much waits for the disk, it waits for its turn. A cancelled task withdraws its event, unless the writer has taken it
    /// already; then the event is published, and the method returns as usual.
    ///
    /// ```swift
    /// try await hub.publish("order.placed", order, subject: "order:1001")
    /// ```
    /// - Parameters:
    ///   - type: the event type, such as `order.placed`: dot-separated words, at most 128 characters.
    ///   - data: encoded as JSON.
    ///   - subject: the object that the event is about, 1 to 256 characters.
    ///   - traceparent: the trace that the event belongs to; see ``NewEvent/traceparent``.
    ///   - encoder: `nil` for one that writes dates as RFC 3339 text with milliseconds.
    /// - Returns: the event in the log.
    /// - Throws: `HubError`; nothing was published then. `.cancelled` if the task was cancelled.
    @discardableResult
    public func publish(
        _ type: String, _ data: some Encodable, subject: String? = nil, traceparent: String? = nil,
        encoder: JSONEncoder? = nil
    ) async throws(HubError) -> PublishedEvent {
        var event = try NewEvent(type, data, subject: subject, encoder: encoder)
        event.traceparent = traceparent
        return try await publish(event)
    }

    /// Publishes an event, like ``publish(_:_:subject:traceparent:encoder:)``.
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
    /// - Parameter events: at most 1,000, which take at most `Hub.Options.maxPublicationBytes` together: the limits of a request
    ///   to the HTTP API. An empty array does nothing.
    /// - Returns: the result for each event, in their order.
    /// - Throws: `HubError`; `invalid` lists each invalid field. Nothing was published then.
    @discardableResult
    public func publish(_ events: [NewEvent]) async throws(HubError) -> [PublishedEvent] {
        if events.isEmpty { return [] }
        let now = clock.wall()
        let late = events.indices.filter {
            events[$0].deliveryDate.map { $0.milliseconds > now + PublicationLimits.maxDelay } ?? false
        }
        guard late.isEmpty else {
            throw .invalid(
                late.map { index in
                    FieldError((events.count > 1 ? "/\(index)" : "") + "/deliver_at", PublicationLimits.delayWords)
                })
        }
        return try await publish(events.map { $0.draft(self, now) })
    }
}
