import HeraldJSON

/// The family `app_state.*`: a state with an associated value, such as `{"data_retrieval": "success"}` or `"idle"`.
package enum AppStateFamily {
    package static let changed = "app_state.changed"

    /// The JSON of the new state. All errors are appended to `errors`.
    static func read(_ data: JSONValue?, _ errors: inout [FieldError]) -> [UInt8]? {
        let state = data?["state"]
        if state == nil {
            errors.append(
                FieldError("/data/state", "is required, such as {\"data_retrieval\": \"success\"} or \"idle\""))
        }
        if data?["previous"] != nil {
            return errors.refuse("/data/previous", "is added by the service and can't be given")
        }
        return state?.bytes
    }

    /// The current state, for a new delegate.
    package static func current(_ state: AppState, id: String, audience: DelegateKey) -> Event {
        let data = JSONWriter.document(capacity: state.state.count + 16) { $0.member("state", .raw(state.state)) }
        return Event(
            app: state.app, id: id, type: changed, subject: nil, time: state.since, audience: audience, data: data)
    }

    /// Whether `withPrevious` has created the event from the posted one.
    static func isCompleted(_ event: Event, from posted: Event) -> Bool {
        guard event.type == changed, let brace = posted.data.lastIndex(of: UInt8(ascii: "}")) else { return false }
        let start = posted.data[..<brace] + previousMember
        return event.data.starts(with: start)
    }

    private static let previousMember = Array(",\"previous\":".utf8)

    /// The event with `data.previous`, the previous state (`null` if there was none); the rest is byte for byte as
    /// posted.
    package static func withPrevious(_ event: Event, _ previous: [UInt8]?) -> Event {
        var data = Array(event.data)
        // The data is an object that contains `state`, so its last byte other than white space is the closing brace.
        guard let brace = data.lastIndex(of: UInt8(ascii: "}")) else { return event }
        data.replaceSubrange(
            brace..., with: previousMember + (previous ?? Array("null".utf8)) + [data[brace]])
        return Event(
            app: event.app, id: event.id, type: event.type, subject: event.subject, time: event.time,
            attributes: event.attributes, audience: event.audience, data: data)
    }
}
