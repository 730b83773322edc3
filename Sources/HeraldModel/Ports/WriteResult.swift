/// The result of a write.
package enum WriteResult<Outcome: Sendable>: Sendable {
    case done(Outcome)
    /// An equal request was carried out before, with this response.
    case replayed(StoredAnswer)
    /// None of it was carried out.
    case refused(HubError)
}
