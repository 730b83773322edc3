/// Why a request that writes was refused. None of it was carried out.
public enum WriteRefusal: Error, Sendable {
    /// Too many writes wait for the disk; retry after a second.
    case busy
    /// The hub is stopping or has stopped.
    case stopping
    /// The store failed.
    case store(StoreError)
    /// The app has published more than `limit` events in a second; retry after `retryAfter` seconds.
    case rateLimited(limit: Int, retryAfter: Int)
    /// With this request, the app's events would take more than `limit` bytes, or they already do.
    case quotaExceeded(limit: Int64)
    /// The idempotency key was used for another request.
    case keyReused
    /// The input is invalid. Contains all errors, with the field names of the HTTP API.
    case invalid([FieldError])
}

extension WriteRefusal: CustomStringConvertible {
    /// The reason and how to resolve it, for humans.
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

/// The result of a write.
package enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// The same request was carried out before, with this response.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}
