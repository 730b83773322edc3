import Synchronization

/// The sessions in memory. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class SessionStore: Sendable {
    private let sessions: Mutex<[[UInt8]: Session]>

    init(_ sessions: [Session]) {
        self.sessions = Mutex(Dictionary(sessions.map { ($0.digest, $0) }, uniquingKeysWith: { $1 }))
    }

    /// - Parameter digest: SHA-256 of a text.
    package func find(_ digest: [UInt8], at time: Int64) -> Session? {
        sessions.withLock { $0[digest] }.flatMap { time < $0.expiresAt ? $0 : nil }
    }

    /// Ends a session at once, stored or not. Any thread.
    package func remove(_ digest: [UInt8]) { sessions.withLock { $0[digest] = nil } }

    /// Keeps a session that the store could not accept, until the process ends. Any thread.
    package func keepInMemory(_ session: Session) {
        sessions.withLock { sessions in
            if sessions.count < 2 * Session.limit { sessions[session.digest] = session }
        }
    }

    var all: [Session] { Array(sessions.withLock { $0 }.values) }

    /// The writer's thread.
    func set(_ session: Session) { sessions.withLock { $0[session.digest] = session } }
}
