import Synchronization

/// The sessions in memory. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class SessionStore: Sendable {
    private let sessions: Mutex<[[UInt8]: Session]>
    private let kept: KeptMemory

    init(_ sessions: [Session], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        self.sessions = Mutex([:])
        for session in sessions { set(session) }
    }

    /// The limit of links, and of sessions of both kinds: they take at most an eighth of the memory each.
    package var limit: Int { min(Session.limit, max(100, kept.limit / 8 / Session.keptBytes)) }

    /// - Parameter digest: SHA-256 of a text.
    package func find(_ digest: [UInt8], at time: Int64) -> Session? {
        sessions.withLock { $0[digest] }.flatMap { time < $0.expiresAt ? $0 : nil }
    }

    /// Ends a session at once, stored or not. Any thread.
    package func remove(_ digest: [UInt8]) {
        guard let old = sessions.withLock({ $0.removeValue(forKey: digest) }) else { return }
        kept.change(.sessions, of: old.app, by: -Session.keptBytes)
    }

    /// Keeps a session that the store could not accept, until the process ends. Any thread.
    package func keepInMemory(_ session: Session) { add(session, limit: 2 * limit) }

    var all: [Session] { Array(sessions.withLock { $0 }.values) }

    /// The writer's thread.
    func set(_ session: Session) { add(session, limit: .max) }

    private func add(_ session: Session, limit: Int) {
        let isNew = sessions.withLock { sessions in
            sessions.count < limit && sessions.updateValue(session, forKey: session.digest) == nil
        }
        if isNew { kept.change(.sessions, of: session.app, by: Session.keptBytes) }
    }
}
