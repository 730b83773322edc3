/// The names of the problems that the hub itself can have: stable, for programs. In the HTTP API they are the last segment
/// of a problem's `type`. This is the only place with them; `Problem` of the HTTP API adds those of requests.
package enum ProblemName: String, Hashable, Sendable, CaseIterable {
    /// Input is invalid. The error lists each field.
    case validation
    /// There is no such webhook, event or replay.
    case notFound = "not-found"
    /// Another delegate sends the same requests to the URL, for some of the same events.
    case conflict
    /// A limit is reached.
    case tooMany = "too-many"
    /// It is not the version that the change was made for.
    case preconditionFailed = "precondition-failed"
    /// There is no lease to renew.
    case noLease = "no-lease"
    /// The owner of the address has not agreed to the callbacks yet.
    case unverified
    /// The bytes of the event in the store are not those that were stored.
    case eventDamaged = "event-damaged"
    /// Filters or data take more work than a request may.
    case budgetExceeded = "budget-exceeded"
    /// The idempotency key belongs to another request.
    case idempotencyKeyReused = "idempotency-key-reused"
    /// The system returned no random bytes.
    case noRandomness = "no-randomness"
    /// Too much is waiting; may succeed after a second.
    case busy
    /// The hub stops or has stopped.
    case stopping
    /// The task was cancelled. Only in the process: it is no problem of the HTTP API.
    case cancelled
    /// The events of one publication are too large.
    case bodyTooLarge = "body-too-large"
    /// The app publishes more events in a second than it may.
    case rateLimited = "rate-limited"
    /// The events of the app take more space than they may.
    case quotaExceeded = "quota-exceeded"
    /// The time of the scheduled event has come.
    case alreadyPublished = "already-published"
    /// The lease of pulled events has ended.
    case leaseEnded = "lease-ended"
    /// Nothing is handed out while the delegate is paused.
    case delegatePaused = "delegate-paused"
    /// Nothing is sent again to a webhook whose receiver responded with 410.
    case delegateGone = "delegate-gone"
    /// A delegate of this kind has no such action.
    case wrongKind = "wrong-kind"
    /// The disk is full; may succeed later.
    case storageFull = "storage-full"
    /// The store fails; may succeed later.
    case storageUnavailable = "storage-unavailable"

    /// The problem in a few words: the same for each occurrence.
    package var title: String {
        switch self {
        case .validation: "Some fields are not valid"
        case .notFound: "Not found"
        case .conflict: "Another delegate sends the same requests"
        case .tooMany: "The limit is reached"
        case .preconditionFailed: "The resource has changed"
        case .noLease: "There is no lease to renew"
        case .unverified: "The address is not verified"
        case .eventDamaged: "The event is damaged"
        case .budgetExceeded: "The request takes too much work"
        case .idempotencyKeyReused: "The idempotency key belongs to another request"
        case .noRandomness: "The secret could not be created"
        case .busy: "The server is busy"
        case .stopping: "The service is stopping"
        case .cancelled: "The task was cancelled"
        case .bodyTooLarge: "The body is too large"
        case .rateLimited: "Too many events"
        case .quotaExceeded: "The app has reached its quota"
        case .alreadyPublished: "The event was published"
        case .leaseEnded: "The lease has ended"
        case .delegatePaused: "The delegate is paused"
        case .delegateGone: "Nothing is sent to the delegate"
        case .wrongKind: "The delegate is of another kind"
        case .storageFull: "The disk is full"
        case .storageUnavailable: "The store is not available"
        }
    }
}
