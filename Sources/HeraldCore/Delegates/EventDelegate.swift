/// An object of the process that is called with every event of the log.
///
/// Called on the store writer's thread, after the events are durable and before their publishers are answered, in the
/// order of the log, each event once. It must return soon and never wait: what takes time goes to a thread of its own.
public protocol EventDelegate: AnyObject, Sendable {
    /// Events have become durable.
    /// - Parameter batch: what was committed together; the next call continues behind it.
    func published(_ batch: EventBatch)
    /// Attempts to call webhooks were recorded. Same thread, same rules. Does nothing by default.
    func recordedAttempts()
}

extension EventDelegate {
    /// Does nothing.
    public func recordedAttempts() {}
}

/// How a delegate inside the process appears in the list of delegates.
package struct InMemoryDelegate: Sendable {
    /// `dlg_` and a ULID, new at each start of the process.
    package let id: String
    /// What it is for, in a few words.
    package let description: String
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    let identity: ObjectIdentifier
    weak let delegate: (any EventDelegate)?
}
