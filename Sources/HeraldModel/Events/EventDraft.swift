/// A validated event without its position in the log.
package struct EventDraft: Sendable {
    /// The data of the built-in families. Indirect, because drafts are copied often.
    package enum Family: Sendable {
        case none
        /// A login, a logout, or a status posted by a client. `user`: the JSON object, if there is one. `ifMatch`: only
        /// if this is the current version of the status.
        indirect case auth(userID: String, isLoggedIn: Bool, user: [UInt8]?, ifMatch: Set<String>? = nil)
        /// `state`: a JSON value. The service adds the previous one. `ifMatch`: only if one of these events set the current one.
        indirect case appState(state: [UInt8], onlyIfChanged: Bool = false, ifMatch: Set<String>? = nil)
    }

    package let event: Event
    /// The publisher chose the id, so it may be a duplicate.
    package private(set) var mayExist: Bool
    package private(set) var family: Family
    /// Validated by ``EventInput``. Otherwise the hub validates it.
    package private(set) var isChecked = false
    /// The time comes from the publisher, and not from the request.
    let bringsTime: Bool
    /// When the event is to be published, in milliseconds since 1970 UTC; `nil`, or a time in the past: at once.
    package let deliverAt: Int64?

    /// - Parameters:
    ///   - event: validated when it is published.
    ///   - mayExist: if `false`, the hub searches for it nevertheless.
    ///   - family: only its conditions are used; everything else is read from the event.
    ///   - bringsTime: the publisher chose the time.
    ///   - deliverAt: when the event is to be published; `nil`: at once.
    package init(
        event: Event, mayExist: Bool, family: Family = .none, bringsTime: Bool = true, deliverAt: Int64? = nil
    ) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
        self.bringsTime = bringsTime
        self.deliverAt = deliverAt
    }

    /// A draft that was validated before.
    package init(checked event: Event, mayExist: Bool, family: Family, bringsTime: Bool, deliverAt: Int64?) {
        self.init(event: event, mayExist: mayExist, family: family, bringsTime: bringsTime, deliverAt: deliverAt)
        isChecked = true
    }

    /// A copy of the draft, whose id may be in the log or not.
    package func with(mayExist: Bool) -> EventDraft {
        var copy = self
        copy.mayExist = mayExist
        return copy
    }

    /// A copy of the draft with the conditions of a family. They do not change the event.
    package func with(_ family: Family) -> EventDraft {
        var copy = self
        copy.family = family
        return copy
    }
}
