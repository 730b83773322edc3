package import HeraldJSON

/// Parses a posted event: `{"type", "subject", "data", "id", "time"}`. Without side effects.
package enum EventInput {
    /// The members of a JSON object that form an event; nothing is copied yet.
    package struct Context: Sendable {
        package let app: AppKey
        /// Milliseconds since 1970 UTC, for an event without a time.
        package let now: Int64
        package let ids: ULIDGenerator
        /// Added to each event of the request.
        package var attributes: [KeyValue]

        package init(
            app: AppKey, now: Int64, ids: ULIDGenerator, attributes: [KeyValue] = []
        ) {
            self.app = app
            self.now = now
            self.ids = ids
            self.attributes = attributes
        }
    }

    /// How to interpret the members of a posted event.
    package enum Form: Sendable {
        /// Herald's own format: other members are errors.
        case native
        /// A CloudEvent: other members are attributes, which the caller parses; `null` counts as missing.
        case cloudEvent
    }

    package static let maxSubjectCharacters = 256

    /// - Parameters:
    ///   - value: the posted event.
    ///   - pointer: the pointer of `value` in the request's body, for errors.
    ///   - errors: all errors are appended.
    /// - Returns: the event, if there are no errors.
    package static func read(
        _ value: JSONValue, as form: Form = .native, at pointer: String = "", _ context: Context,
        _ errors: inout [FieldError]
    ) -> EventDraft? {
        guard value.kind == .object else { return errors.refuse(pointer, "must be an object with a type") }
        var found: [FieldError] = []
        var type: String?
        var hasType = false
        var subject: String?
        var id: String?
        var time: Int64?
        var deliverAt: Int64?
        var data: JSONValue?
        for (key, member) in value.members {
            if form == .cloudEvent, member.isNull, key != "data" { continue }
            switch key {
            case "type":
                hasType = true
                type = readType(member, &found)
            case "subject": subject = readSubject(member, &found)
            case "data": data = member
            case "id": id = readID(member, &found)
            case "time": time = readTime(member, "/time", &found)
            case "deliver_at" where form == .native: deliverAt = readDeliverAt(member, context.now, &found)
            default:
                if form == .native, found.count < FieldError.maxReported {
                    found.append(FieldError(JSONPointer.child("", key), "is not a field of an event"))
                }
            }
        }
        if !hasType {
            found.append(FieldError("/type", "is required, such as \"auth.logged_in\""))
        }
        var family = EventDraft.Family.none
        if let type { family = readFamily(type, &subject, data, &found) }
        guard found.isEmpty, let type else {
            errors += found.map { FieldError(pointer + $0.pointer, $0.detail) }
            return nil
        }
        let name = id ?? context.ids.next("evt_", time: context.now, of: context.app)
        let event = withBytes(of: data) {
            Event(
                app: context.app, id: name, type: type, subject: subject, time: time ?? deliverAt ?? context.now,
                attributes: context.attributes, data: $0)
        }
        return EventDraft(
            checked: event, mayExist: id != nil, family: family, bringsTime: time != nil, deliverAt: deliverAt)
    }

    /// The validation of the event's family; sets the default subject.
    static func readFamily(
        _ type: String, _ subject: inout String?, _ data: JSONValue?, _ errors: inout [FieldError]
    ) -> EventDraft.Family {
        if type == AppStateFamily.changed {
            guard let state = AppStateFamily.read(data, &errors) else { return .none }
            return .appState(state: state)
        }
        if type == AuthFamily.statusChanged, data?["cause"] != nil {
            // The projection of auth status relies on it.
            errors.append(FieldError("/data/cause", "is added by the service and can't be given"))
        }
        guard EventType.Family(of: type) == .auth,
            let change = AuthFamily.read(type, subject: subject, data: data, &errors)
        else {
            return .none
        }
        if subject == nil { subject = AuthFamily.subject(ofUser: change.userID) }
        return .auth(userID: change.userID, isLoggedIn: change.isLoggedIn, user: change.user)
    }

    private static func readType(_ value: JSONValue, _ errors: inout [FieldError]) -> String? {
        guard let type = value.string else { return errors.refuse("/type", "must be \(EventType.words)") }
        if let problem = problem(ofType: type) { return errors.refuse("/type", problem) }
        return type
    }

    /// Why the type of a posted event is invalid.
    package static func problem(ofType type: String) -> String? {
        if !EventType.isValid(type) { return "must be \(EventType.words)" }
        return EventType.Family(of: type) == .service
            ? "must not begin with \"herald.\": those are the service's own" : nil
    }

    private static func readSubject(_ value: JSONValue, _ errors: inout [FieldError]) -> String? {
        if value.isNull { return nil }
        guard let subject = value.string, problem(ofSubject: subject) == nil else {
            return errors.refuse("/subject", Self.subjectWords)
        }
        return subject
    }

    /// Why a subject is invalid.
    static func problem(ofSubject subject: String) -> String? {
        // A query cannot name U+0000: such a subject could not be erased. A text has at most as many characters as bytes.
        !subject.isEmpty && !subject.hasNull
            && (subject.utf8.count <= maxSubjectCharacters || subject.unicodeScalars.count <= maxSubjectCharacters)
            ? nil : subjectWords
    }

    private static let subjectWords = "must be a string of 1 to \(maxSubjectCharacters) characters, without U+0000"

    private static func readID(_ value: JSONValue, _ errors: inout [FieldError]) -> String? {
        guard let id = value.string, EventID.isValid(id) else {
            return errors.refuse("/id", "must be \(EventID.words)")
        }
        return id
    }

    private static func readTime(_ value: JSONValue, _ pointer: String, _ errors: inout [FieldError]) -> Int64? {
        guard let time = value.timestamp else {
            return errors.refuse(pointer, "must be an RFC 3339 time, such as \"2026-01-31T12:00:00.000Z\"")
        }
        return time.milliseconds
    }

    /// - Parameter now: milliseconds since 1970 UTC.
    private static func readDeliverAt(_ value: JSONValue, _ now: Int64, _ errors: inout [FieldError]) -> Int64? {
        if value.isNull { return nil }
        guard let time = readTime(value, "/deliver_at", &errors) else { return nil }
        guard time - now <= PublicationLimits.maxDelay else {
            return errors.refuse("/deliver_at", PublicationLimits.delayWords)
        }
        return time
    }

    private static func withBytes<Result>(
        of data: JSONValue?, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if let data { return data.withBytes(body) }
        return Array("null".utf8).withUnsafeBufferPointer(body)
    }
}
