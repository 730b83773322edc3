/// Why a request that writes was not carried out. Nothing of it was.
public enum WriteRefusal: Error, Sendable {
    /// Too much waits for the disk already; worth another try after a second.
    case busy
    /// The hub stops or has stopped.
    case stopping
    /// The store failed.
    case store(StoreError)
    /// The app publishes more events than it may in a second (`limit`); worth another try after `retryAfter` seconds.
    case rateLimited(limit: Int, retryAfter: Int)
    /// The app's events take as many bytes as they may (`limit`), or would.
    case quotaExceeded(limit: Int64)
    /// The idempotency key was used for another request.
    case keyReused
    /// What was handed in is not allowed: everything that is wrong, by the names of the HTTP API.
    case invalid([FieldError])
}

extension WriteRefusal: CustomStringConvertible {
    /// What to do about it, in words.
    public var description: String {
        switch self {
        case .busy: "Too many events wait for the disk. Try again after a second."
        case .stopping: "The hub stops or has stopped."
        case .store(let error): error.description
        case .rateLimited(let limit, let retryAfter):
            "The app may publish \(limit) events a second. Try again after \(retryAfter) seconds."
        case .quotaExceeded(let limit): "The events of the app may take \(limit) bytes."
        case .keyReused: "The idempotency key was used for another request."
        case .invalid(let errors): InvalidInput(errors).description
        }
    }
}

/// How a write ended.
package enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// The same request was carried out before: this was its answer.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}
