/// Why a request that writes was not carried out. Nothing of it was.
public enum WriteRefusal: Error, Sendable {
    /// Too much waits for the disk already; worth another try after a second.
    case busy
    case stopping
    case store(StoreError)
    /// The app posts more events than it may in a second; worth another try after so many seconds.
    case rateLimited(limit: Int, retryAfter: Int)
    /// The app's events take as many bytes as they may, or would.
    case quotaExceeded(limit: Int64)
    /// The idempotency key was used for another request.
    case keyReused
    /// What was handed in is not allowed: everything that is wrong, by the names of the HTTP API.
    case invalid([FieldError])
}

/// How a write ended.
public enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// The same request was carried out before: this was its answer.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}
