package import HeraldModel
import Synchronization

/// The sessions in memory. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
package final class SessionStore: Sendable {
    /// Links and sessions have a limit each.
    private struct State {
        var links = SessionShares()
        var sessions = SessionShares()

        func find(_ digest: [UInt8]) -> Session? { sessions.sessions[digest] ?? links.sessions[digest] }

        mutating func set(_ session: Session) -> Bool {
            session.kind == .link ? links.set(session) : sessions.set(session)
        }

        mutating func remove(_ digest: [UInt8]) -> Session? {
            if let session = sessions.remove(digest) { return session }
            return links.remove(digest)
        }
    }

    private let state = Mutex(State())
    private let kept: KeptMemory

    init(_ sessions: [Session], _ kept: KeptMemory = KeptMemory()) {
        self.kept = kept
        for session in sessions { set(session) }
    }

    /// The limit of links, and of sessions of both kinds: they take at most an eighth of the memory each.
    package var limit: Int { min(Session.limit, max(100, kept.limit / 8 / Session.keptBytes)) }

    /// - Parameter digest: SHA-256 of a text.
    package func find(_ digest: [UInt8], at time: Int64) -> Session? {
        state.withLock { $0.find(digest) }.flatMap { time < $0.expiresAt ? $0 : nil }
    }

    /// Ends a session at once, stored or not. Any thread.
    package func remove(_ digest: [UInt8]) {
        guard let old = state.withLock({ $0.remove(digest) }) else { return }
        kept.change(.sessions, of: old.app, by: -Session.keptBytes)
    }

    /// Keeps a session that the store could not accept, until the process ends. Any thread.
    package func keepInMemory(_ session: Session) { add(session, limit: 2 * limit) }

    /// The sessions and links of a key, which may be for any app.
    func sessions(ofKey key: String) -> [Session] {
        state.withLock { $0.sessions.sessions(ofKey: key) + $0.links.sessions(ofKey: key) }
    }

    /// The sessions and links of an app.
    func sessions(of app: AppKey) -> [Session] {
        state.withLock { $0.sessions.sessions(of: app) + $0.links.sessions(of: app) }
    }

    /// The sessions to end before a new one is opened: expired ones, and one more if the limit is reached. Changes nothing.
    /// - Parameter maxExpired: the maximum number of expired sessions, and of expired links.
    /// - Returns: `nil` if the new one is a link, and there may be none.
    func displaced(by session: Session, at time: Int64, maxExpired: Int) -> [Session]? {
        let limit = limit
        return state.withLock { state -> [Session]? in
            let links = state.links.expired(at: time, limit: maxExpired)
            let sessions = state.sessions.expired(at: time, limit: maxExpired)
            if session.kind == .link {
                let count = state.links.count - links.count
                let own = state.links.count(of: session.app) - links.count(where: { $0.app == session.app })
                // An app may have three quarters of what the other apps leave, so that something is left for the next one.
                let most = max(1, (limit - (count - own)) * 3 / 4)
                return count < limit && own < most ? sessions + links : nil
            }
            var ended = sessions + links
            if state.sessions.count - sessions.count >= limit, let one = state.sessions.displaced(by: session) {
                ended.append(one)
            }
            return ended
        }
    }

    func set(_ session: Session) { add(session, limit: .max) }

    private func add(_ session: Session, limit: Int) {
        let isNew = state.withLock { state in
            state.sessions.count + state.links.count < limit && state.set(session)
        }
        if isNew { kept.change(.sessions, of: session.app, by: Session.keptBytes) }
    }
}
