import HeraldJSON

/// Why the hub refused a request. Nothing was changed. The HTTP API refuses the same requests.
public enum HubError: Error, Sendable, CustomStringConvertible {
    /// The input is invalid: all errors, with the field names of the HTTP API.
    case invalid([FieldError])
    /// Another webhook, `id`, already has the URL.
    case urlTaken(id: String)
    /// A limit is reached: which one, and what to do.
    case tooMany(String)
    /// There is no such webhook, event or replay: which one.
    case notFound(String)
    /// The webhook is no longer in the version that the change was made for.
    case hasChanged
    /// The webhook `id` has no lease that could be renewed.
    case noLease(id: String)
    /// The owner of the webhook `id` has not agreed to the callbacks yet.
    case unverified(id: String)
    /// The event `id` is damaged in the store.
    case eventDamaged(id: String)
    /// Filters or data take more work than a request may.
    case budgetExceeded
    /// The idempotency key was used for another request.
    case keyReused
    /// The system returned no random bytes for a secret.
    case noRandomness(String)
    /// Too much is waiting; retry after a second.
    case busy
    /// The hub is stopping or has stopped.
    case stopping
    /// The task was cancelled before the hub had begun.
    case cancelled
    /// The events that are published together take more than `limit` bytes.
    case tooLarge(limit: Int)
    /// The app has published more than `limit` events in a second; retry after `retryAfter` seconds.
    case rateLimited(limit: Int, retryAfter: Int)
    /// With this request, the app's events would take more than `limit` bytes, or they already do.
    case quotaExceeded(limit: Int64)
    /// The event `id` was published: its time has come.
    case alreadyPublished(id: String)
    /// The lease `id` has ended: another consumer may have its events.
    case leaseEnded(id: String)
    /// The delegate `id` is paused.
    case delegatePaused(id: String)
    /// The receiver of the webhook `id` responded with 410: it gets nothing until it is resumed.
    case delegateGone(id: String)
    /// The delegate is of a kind that has no such action: which one.
    case wrongKind(String)
    /// The store failed, or can't be opened.
    case store(StoreError)

    package static func noDelegate(_ id: String) -> HubError { .notFound("There is no delegate with the id \(id).") }

    package static func wrongKind(_ id: String, _ kind: DelegateKind) -> HubError {
        switch kind {
        case .webhook: .wrongKind("The delegate \(id) is a webhook. Only delegates of kind pull are pulled.")
        case .pull: .wrongKind("The delegate \(id) is of kind pull. Only webhooks have this action.")
        }
    }

    /// The app's registrations are kept in memory, and would take more than `limit` bytes.
    package static func memoryFull(limit: Int) -> HubError {
        .tooMany(
            "Webhooks, keys and event types are kept in memory, where those of this app may take \(limit >> 10) KiB. "
                + "Remove some, or give the server more --memory.")
    }

    /// The app has `limit` scheduled events, or would have more.
    package static func tooManyScheduled(limit: Int) -> HubError {
        .tooMany("This app may have \(limit) scheduled events. Nothing was published. Cancel some first.")
    }

    package static func noEvent(_ id: String) -> HubError { .notFound("There is no event with the id \(id).") }

    /// The name of the problem that the HTTP API reports for the same request.
    package var problem: ProblemName {
        switch self {
        case .invalid: .validation
        case .urlTaken: .conflict
        case .tooMany: .tooMany
        case .notFound: .notFound
        case .hasChanged: .preconditionFailed
        case .noLease: .noLease
        case .unverified: .unverified
        case .eventDamaged: .eventDamaged
        case .budgetExceeded: .budgetExceeded
        case .noRandomness: .noRandomness
        case .keyReused: .idempotencyKeyReused
        case .busy: .busy
        case .stopping: .stopping
        case .cancelled: .cancelled
        case .tooLarge: .bodyTooLarge
        case .rateLimited: .rateLimited
        case .quotaExceeded: .quotaExceeded
        case .alreadyPublished: .alreadyPublished
        case .leaseEnded: .leaseEnded
        case .delegatePaused: .delegatePaused
        case .delegateGone: .delegateGone
        case .wrongKind: .wrongKind
        case .store(let error): error.problem
        }
    }

    /// The invalid fields; empty if the problem is another one.
    public var fields: [FieldError] {
        if case .invalid(let errors) = self { errors } else { [] }
    }

    /// The reason and how to resolve it, for humans.
    public var description: String {
        switch self {
        case .invalid(let errors): errors.text
        case .urlTaken(let id):
            "The webhook \(id) sends such requests to this URL already, for some of these events. Change or remove it first."
        case .tooMany(let why): why
        case .notFound(let what): what
        case .hasChanged: "The webhook has changed. Read it again, and repeat the change."
        case .noLease(let id): "The webhook \(id) stays until it is removed. Give it a lease first."
        case .unverified(let id):
            "The webhook \(id) gets no callbacks before its receiver has agreed. Its status reason shows the progress."
        case .eventDamaged(let id):
            "The bytes of the event \(id) in the database are not those that were stored. Restore it from a backup."
        case .budgetExceeded: "It takes more than \(WorkBudget.stepsPerRequest) steps. Make the filters simpler."
        case .noRandomness(let why): "The secret could not be created: \(why)"
        case .keyReused: "The idempotency key was used for another request. Use a new key."
        case .busy: "Too much waits for the disk, or for receivers. Try again after a second."
        case .stopping: "The hub stops or has stopped."
        case .cancelled: "The task was cancelled."
        case .tooLarge(let limit): "Events that are published together may take \(limit) bytes. Publish fewer at once."
        case .rateLimited(let limit, let retryAfter):
            "The app may publish \(limit) events a second. Try again after \(retryAfter) seconds."
        case .quotaExceeded(let limit):
            "The events of the app may take \(limit) bytes, and would take more. There is room again when the oldest have "
                + "left the log."
        case .alreadyPublished(let id):
            "The event \(id) was published. Only scheduled events can be changed or cancelled."
        case .leaseEnded(let id):
            "The lease \(id) has ended. Its events that were not acknowledged are handed out again. Pull the next ones."
        case .delegatePaused(let id): "The delegate \(id) is paused. Its events are kept until it is resumed."
        case .delegateGone(let id):
            "The receiver of the delegate \(id) responded with 410. Resume the delegate first."
        case .wrongKind(let why): why
        case .store(let error): error.description
        }
    }
}

extension StoreError {
    package var problem: ProblemName { self == .full ? .storageFull : .storageUnavailable }
}
