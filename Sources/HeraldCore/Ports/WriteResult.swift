/// Why a request that writes was refused. None of it was carried out.
package enum WriteRefusal: Error, Sendable {
    /// Too many writes wait for the disk; retry after a second.
    case busy
    /// The hub is stopping or has stopped.
    case stopping
    /// Its task was cancelled before the writer took it.
    case cancelled
    /// The events take more than `limit` bytes.
    case tooLarge(limit: Int)
    /// The store failed.
    case store(StoreError)
    /// The app has published more than `limit` events in a second; retry after `retryAfter` seconds.
    case rateLimited(limit: Int, retryAfter: Int)
    /// With this request, the app's events and remembered responses would take more than `limit` bytes, or they already do.
    case quotaExceeded(limit: Int64)
    /// The app's registrations are kept in memory, and would take more than `limit` bytes.
    case memoryFull(limit: Int)
    /// The app has `limit` scheduled events, or would have more.
    case tooManyScheduled(limit: Int)
    /// Nodes of an older release, which lack this feature, still use the store.
    case upgradeUnfinished
    /// The idempotency key was used for another request.
    case keyReused
    /// The input is invalid. Contains all errors, with the field names of the HTTP API.
    case invalid([FieldError])
}

extension WriteRefusal: CustomStringConvertible {
    /// The reason and how to resolve it, for humans.
    package var description: String { error.description }
}

/// The result of a write.
package enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// An equal request was carried out before, with this response.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}
