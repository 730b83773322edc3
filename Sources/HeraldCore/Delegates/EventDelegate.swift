/// Who is told that something happened: the one protocol that every consumer of the log implements.
///
/// Called on the store writer's thread, after the events are durable and before their publishers are answered, in the
/// order of the log, each event once. It must return soon and never wait: what takes time goes to a thread of its own.
public protocol EventDelegate: AnyObject, Sendable {
    func published(_ batch: EventBatch)
    /// Attempts to tell webhooks were written down: readers of the store find them from here on. Same thread, same rules.
    func recordedAttempts()
}

extension EventDelegate {
    /// What most of them make of attempts: nothing.
    public func recordedAttempts() {}
}

/// How a delegate inside the process appears in the list of delegates.
public struct InMemoryDelegate: Sendable {
    /// `dlg_` and a ULID, new at each start of the process.
    public let id: String
    /// What it is for, in a few words.
    public let description: String
    /// Milliseconds since 1970 UTC.
    public let createdAt: Int64
    let identity: ObjectIdentifier
    weak let delegate: (any EventDelegate)?
}
