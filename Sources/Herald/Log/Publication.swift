/// An event that someone wants posted, checked and complete but for its place in the log.
public struct EventDraft: Sendable {
    /// What the built-in families know of an event.
    public enum Family: Sendable {
        case none
        /// A login, a logout, or a status told by a client. `user`: the JSON object, when there was one.
        /// `ifMatch`: only if this event made the current status.
        case auth(userID: String, isLoggedIn: Bool, user: [UInt8]?, ifMatch: String? = nil)
        /// `state`: a JSON value. The service adds what it was before. `ifMatch`: only if this event made the current one.
        case appState(state: [UInt8], onlyIfChanged: Bool = false, ifMatch: String? = nil)
    }

    public let event: Event
    /// The publisher brought the id, so that it may have been posted already.
    public let mayExist: Bool
    public let family: Family

    public init(event: Event, mayExist: Bool, family: Family = .none) {
        self.event = event
        self.mayExist = mayExist
        self.family = family
    }
}

/// What became of one posted event.
public struct PostedEvent: Sendable {
    /// Whether it was posted, and why not.
    public enum Fate: Equatable, Sendable {
        case accepted
        /// Its id was posted before; `event` is the first one. Nobody is told twice.
        case existed
        /// An app state equal to the current one, posted with `onlyIfChanged`: nobody is told.
        case unchanged
        /// Another event made the current value than `ifMatch` says: nobody is told.
        case preconditionFailed
    }
    public let event: Event
    public let fate: Fate
}

/// Why a request that writes was not carried out. Nothing of it was.
public enum WriteRefusal: Error, Sendable {
    /// Too much waits for the disk already; worth another try after a second.
    case busy
    case stopping
    case store(StoreError)
    /// The idempotency key was used for another request.
    case keyReused
}

/// A client's promise that requests with this key are the same request.
public struct IdempotencyKey: Sendable {
    public let key: String
    /// Of the whole request; two requests with the same fingerprint are the same.
    public let fingerprint: [UInt8]
    /// How long an answer is remembered, in milliseconds.
    static let lifetime: Int64 = 86_400_000

    public init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// Makes a write happen once for an idempotency key: the answer is stored in the same transaction.
public struct Idempotency<Outcome>: Sendable {
    public let key: IdempotencyKey
    /// The answer to remember for an outcome; `nil`: none, the request may be repeated. The writer's thread.
    public let answer: @Sendable (Outcome) -> StoredAnswer?

    public init(key: IdempotencyKey, answer: @escaping @Sendable (Outcome) -> StoredAnswer?) {
        self.key = key
        self.answer = answer
    }
}

/// How a write ended.
public enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// The same request was carried out before: this was its answer.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}

/// Events that are posted together, all or none, and who waits for them.
public struct Publication: Sendable {
    public let app: AppKey
    public let drafts: [EventDraft]
    public let idempotency: Idempotency<[PostedEvent]>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<[PostedEvent]>) -> Void

    public init(
        app: AppKey = .default, drafts: [EventDraft], idempotency: Idempotency<[PostedEvent]>? = nil,
        completion: @escaping @Sendable (WriteResult<[PostedEvent]>) -> Void
    ) {
        self.app = app
        self.drafts = drafts
        self.idempotency = idempotency
        self.completion = completion
    }
}
