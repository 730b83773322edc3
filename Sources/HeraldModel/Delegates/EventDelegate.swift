/// An object in the process that is called with every event of the log.
///
/// Called on the writer's thread, when the events are durable and before their publishers get a response, in the order
/// of the log, with each event once. It must return soon and never wait: use another thread for longer work.
public protocol EventDelegate: AnyObject, Sendable {
    /// Events have become durable.
    /// - Parameter batch: the events of one commit; the next call continues after it.
    func published(_ batch: EventBatch)
}

/// A delegate in the process, as listed in the API.
package struct InMemoryDelegate: Sendable {
    /// `dlg_` and a ULID, new at each start of the process.
    package let id: String
    /// Its purpose.
    package let description: String
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    package let identity: ObjectIdentifier
    package weak let delegate: (any EventDelegate)?

    package init(
        id: String, description: String, createdAt: Int64, identity: ObjectIdentifier, delegate: (any EventDelegate)?
    ) {
        self.id = id
        self.description = description
        self.createdAt = createdAt
        self.identity = identity
        self.delegate = delegate
    }
}
