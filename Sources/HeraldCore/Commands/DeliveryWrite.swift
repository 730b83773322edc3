/// A change of what is delivered: what is asked for, and who waits for it.
public struct DeliveryWrite: Sendable {
    public enum Action: Sendable {
        /// Makes deliveries again that have a row of their own, from the first attempt on.
        case redeliver(DeliveryQuery)
        /// Makes the deliveries of one event again: to one delegate, or to all that it was attempted to.
        case redeliverEvent(id: String, delegateID: String?)
        /// Ends deliveries that wait for a retry.
        case cancel(DeliveryQuery)
        /// Tells a delegate again of the events after one and up to another; `nil`: up to the last one of now.
        case replay(delegateID: String, after: LogPosition, until: LogPosition?)
        /// Ends a replay: nothing more is started for it. What was started goes on.
        case endReplay(delegateID: String, replay: Int64)
        /// Erases events, and what is kept of the subject outside the log.
        case erase([LogPosition], subject: String?)
    }

    public enum Outcome: Sendable {
        /// So many deliveries were changed.
        case count(Int)
        case replay(Replay)
        case erased(Erasure)
        /// What was not found, in words.
        case notFound(String)
        /// More than is allowed at once, in words.
        case tooMany(String)
    }

    /// Deliveries that one request changes at most.
    public static let maxDeliveries = 10_000
    /// Events that one request erases at most.
    public static let maxErased = 500
    /// Replays of one delegate that have not ended.
    public static let maxReplays = 8

    public let app: AppKey
    public let action: Action
    /// For the audit log; `nil`: the process itself asks, or it was noted before.
    public let provenance: Provenance?
    public let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        app: AppKey = .default, action: Action, provenance: Provenance? = nil,
        idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}
