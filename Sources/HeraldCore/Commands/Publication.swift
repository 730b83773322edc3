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
    package let mayExist: Bool
    package let family: Family
    /// Validated by ``EventInput``. Otherwise the hub validates it.
    let isChecked: Bool
    /// The time comes from the publisher, and not from the request.
    let bringsTime: Bool

    /// - Parameters:
    ///   - event: validated when it is published.
    ///   - mayExist: if `false`, the hub looks it up nevertheless.
    ///   - family: only its conditions are used; everything else is read from the event.
    package init(event: Event, mayExist: Bool, family: Family = .none) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
        isChecked = false
        bringsTime = true
    }

    /// A draft that was validated before.
    init(checked event: Event, mayExist: Bool, family: Family, bringsTime: Bool) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
        self.bringsTime = bringsTime
        isChecked = true
    }

    /// The same draft with the conditions of a family, which do not change the event.
    package func with(_ family: Family) -> EventDraft {
        isChecked
            ? EventDraft(checked: event, mayExist: mayExist, family: family, bringsTime: bringsTime)
            : EventDraft(event: event, mayExist: mayExist, family: family)
    }
}

/// The result for one published event.
public struct PublishedEvent: Sendable {
    /// Whether it was published, and if not, why.
    public enum Disposition: Equatable, Sendable {
        /// It is in the log, and delegates are called.
        case accepted
        /// Its id was published before; `event` is the first one. Delegates are not called again.
        case existed
        /// An app state equal to the current one, posted with `onlyIfChanged`: nothing was published.
        case unchanged
        /// `ifMatch` does not match the current value: nothing was published.
        case preconditionFailed
    }
    /// The event in the log; for `existed`, the first one.
    public let event: Event
    /// Whether this call added it to the log.
    public let disposition: Disposition
    /// For `existed`: where the post differs from the first event, as JSON pointers into the post.
    package let differences: [String]

    package init(event: Event, disposition: Disposition, differences: [String] = []) {
        self.event = event
        self.disposition = disposition
        self.differences = differences
    }
}

/// Events that are posted together, all or none, with their completion.
///
/// A class, because it is passed between several owners, and copying a struct would retain each of its references.
package final class Publication: Sendable {
    package let app: AppKey
    package let drafts: [EventDraft]
    /// The size of the events' bodies.
    let bytes: Int
    package let idempotency: Idempotency<[PublishedEvent]>?
    /// Called once on the writer's thread (or at once if it is refused); must not wait.
    package let completion: @Sendable (WriteResult<[PublishedEvent]>) -> Void

    package init(
        app: AppKey = .default, drafts: [EventDraft], idempotency: Idempotency<[PublishedEvent]>? = nil,
        completion: @escaping @Sendable (WriteResult<[PublishedEvent]>) -> Void
    ) {
        self.app = app
        self.drafts = drafts
        bytes = drafts.reduce(0) { $0 + $1.event.body.count }
        self.idempotency = idempotency
        self.completion = completion
    }
}
