package import HeraldJSON

/// The rules for events that are created in the process, without a request parsed by ``EventInput``.
extension EventDraft {
    /// The validated draft, or all errors.
    ///
    /// Its family is read from the event. An id is always checked, because a publisher in the process may have used
    /// it before.
    /// - Parameter values: how many JSON values the data may have; reduced by those that it has.
    package func checked(
        app: AppKey, at pointer: String, values: inout Int, _ errors: inout [FieldError]
    ) -> EventDraft? {
        var found: [FieldError] = []
        var data: JSONDocument?
        do throws(JSONError) {
            let document = try JSONDocument(parsing: Array(event.data), limits: JSONLimits(values: values))
            values -= document.valueCount
            data = document
        } catch {
            found.append(FieldError("/data", Self.problem(error)))
        }
        if event.app != app { found.append(FieldError("", "belongs to another app than the publication")) }
        if let problem = EventInput.problem(ofType: event.type) { found.append(FieldError("/type", problem)) }
        if !EventID.isValid(event.id) { found.append(FieldError("/id", "must be \(EventID.words)")) }
        if let subject = event.subject, let problem = EventInput.problem(ofSubject: subject) {
            found.append(FieldError("/subject", problem))
        }
        if !(Timestamp.earliest...Timestamp.latest).contains(Timestamp(milliseconds: event.time)) {
            found.append(FieldError("/time", "must be in the years 0001 to 9999"))
        }
        found += EventAttribute.problems(of: event.attributes)
        var subject = event.subject
        var family = Family.none
        if found.isEmpty { family = EventInput.readFamily(event.type, &subject, data?.root, &found) }
        guard found.isEmpty else {
            errors += found.map { FieldError(pointer + $0.pointer, $0.detail) }
            return nil
        }
        let complete =
            subject == event.subject
            ? event
            : Event(
                app: app, id: event.id, type: event.type, subject: subject, time: event.time,
                attributes: event.attributes, audience: event.audience, data: event.data)
        return EventDraft(
            checked: complete, mayExist: true, family: family.keepingConditions(of: self.family),
            bringsTime: bringsTime, deliverAt: deliverAt)
    }
}

extension EventDraft {
    /// The draft of an event that was checked when it was scheduled. Since then it may have an id and an attribute that no
    /// publisher can give (``Event/qualified()``), so only its family is read.
    package init(due event: Event, mayExist: Bool) {
        var family = Family.none
        switch event.family {
        case .auth, .appState:
            var (subject, errors) = (event.subject, [FieldError]())
            let found = EventInput.readFamily(event.type, &subject, event.document?.root, &errors)
            if errors.isEmpty { family = found }
        case .service, .other: break
        }
        self.init(checked: event, mayExist: mayExist, family: family, bringsTime: true, deliverAt: nil)
    }

    private static func problem(_ error: JSONError) -> String {
        switch error.reason {
        case .tooManyValues: "has too many JSON values: all events together may have \(PublicationLimits.maxValues)"
        case .keyTooLong, .tooDeep, .tooLarge: "is too much: \(error)"
        default: "must be one JSON value: \(error)"
        }
    }
}

extension EventDraft.Family {
    /// A draft read from an event has no conditions.
    fileprivate func keepingConditions(of given: Self) -> Self {
        switch (self, given) {
        case (.auth(let userID, let isLoggedIn, let user, _), .auth(_, _, _, let ifMatch)):
            .auth(userID: userID, isLoggedIn: isLoggedIn, user: user, ifMatch: ifMatch)
        case (.appState(let state, _, _), .appState(_, let onlyIfChanged, let ifMatch)):
            .appState(state: state, onlyIfChanged: onlyIfChanged, ifMatch: ifMatch)
        default: self
        }
    }
}

extension Event {
    /// The data of an event that was accepted; `nil` if it is not JSON.
    package var document: JSONDocument? { try? JSONDocument(parsing: Array(data), limits: Self.storedLimits) }

    /// Whether type and data of a stored event are valid. The row of a scheduled event has no checksum.
    package var isPlausible: Bool { EventType.isValid(type) && document != nil }

    /// More than a publication may have, with what the service adds.
    private static let storedLimits = JSONLimits(depth: 128, values: .max, keyBytes: .max)
}
