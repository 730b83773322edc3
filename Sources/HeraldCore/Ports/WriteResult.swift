/// Why a request that writes was refused. None of it was carried out. The cases without a comment are those of `HubError`.
package enum WriteRefusal: Error, Sendable {
    case busy
    case stopping
    case cancelled
    case tooLarge(limit: Int)
    case store(StoreError)
    case rateLimited(limit: Int, retryAfter: Int)
    case quotaExceeded(limit: Int64)
    /// The app's registrations are kept in memory, and would take more than `limit` bytes.
    case memoryFull(limit: Int)
    /// The app has `limit` scheduled events, or would have more.
    case tooManyScheduled(limit: Int)
    case upgradeUnfinished
    case keyReused
    case invalid([FieldError])
}

extension WriteRefusal: CustomStringConvertible {
    package var description: String { error.description }
}

/// The result of a write.
package enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// An equal request was carried out before, with this response.
    case replayed(StoredAnswer)
    case refused(WriteRefusal)
}
