/// An event that someone wants posted, checked and complete but for its place in the log.
package struct EventDraft: Sendable {
    /// What the built-in families know of an event. Indirect: drafts are copied often on their way.
    package enum Family: Sendable {
        case none
        /// A login, a logout, or a status told by a client. `user`: the JSON object, when there was one.
        /// `ifMatch`: only if this is the version of the current status.
        indirect case auth(userID: String, isLoggedIn: Bool, user: [UInt8]?, ifMatch: String? = nil)
        /// `state`: a JSON value. The service adds what it was before. `ifMatch`: only if this event made the current one.
        indirect case appState(state: [UInt8], onlyIfChanged: Bool = false, ifMatch: String? = nil)
    }

    package let event: Event
    /// The publisher brought the id, so that it may have been posted already.
    package let mayExist: Bool
    package let family: Family
    /// By ``EventInput``. What is not, the hub checks.
    let isChecked: Bool
    /// The time is the publisher's, and not that of the request.
    let bringsTime: Bool

    /// - Parameters:
    ///   - event: checked when it is published.
    ///   - mayExist: `false` promises nothing: the hub looks.
    ///   - family: its conditions count; all else is read from the event.
    package init(event: Event, mayExist: Bool, family: Family = .none) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
        isChecked = false
        bringsTime = true
    }

    /// What has been read by the rules.
    init(checked event: Event, mayExist: Bool, family: Family, bringsTime: Bool) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
        self.bringsTime = bringsTime
        isChecked = true
    }

    /// The same draft of a family with conditions, which change nothing of the event.
    package func with(_ family: Family) -> EventDraft {
        isChecked
            ? EventDraft(checked: event, mayExist: mayExist, family: family, bringsTime: bringsTime)
            : EventDraft(event: event, mayExist: mayExist, family: family)
    }
}

/// What became of one published event.
public struct PublishedEvent: Sendable {
    /// Whether it was published, and why not.
    public enum Disposition: Equatable, Sendable {
        /// It is in the log now, and delegates are called.
        case accepted
        /// Its id was published before; `event` is the first one. Delegates aren't called twice.
        case existed
        /// An app state equal to the current one, posted with `onlyIfChanged`: nobody is told.
        case unchanged
        /// Another event made the current value than `ifMatch` says: nobody is told.
        case preconditionFailed
    }
    /// The event as it is in the log: of one that `existed`, the first one.
    public let event: Event
    /// Whether it is in the log because of this call.
    public let disposition: Disposition
    /// Of one that `existed`: where the post says something else than the first event, as JSON pointers into the post.
    package let differences: [String]

    package init(event: Event, disposition: Disposition, differences: [String] = []) {
        self.event = event
        self.disposition = disposition
        self.differences = differences
    }
}

/// Events that are posted together, all or none, and who waits for them.
///
/// An object: on its way it is handed on by several owners, each of which would count references to all that it holds.
package final class Publication: Sendable {
    package let app: AppKey
    package let drafts: [EventDraft]
    /// Of the events' bodies.
    let bytes: Int
    package let idempotency: Idempotency<[PublishedEvent]>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
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
