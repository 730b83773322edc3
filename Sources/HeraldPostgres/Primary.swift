import Synchronization

/// The server that a session writes to: a system of servers that copy each other, and how many of them were promoted so far. A
/// standby that is promoted begins a new timeline.
package struct Primary: Equatable, Sendable, CustomStringConvertible {
    let system: String
    let timeline: Int64

    init(system: String, timeline: Int64) {
        self.system = system
        self.timeline = timeline
    }

    /// - Parameter text: a `description`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2, let timeline = Int64(parts[1]) else { return nil }
        self.init(system: String(parts[0]), timeline: timeline)
    }

    package var description: String { "\(system)/\(timeline)" }

    // Which functions a role may call, and which there are, differs between providers: nothing else depends on these.
    private static let statement = Statement(
        "SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) FROM pg_control_system()"
    )

    /// - Returns: `nil` if the server does not tell.
    static func find(_ session: PostgresSession, seconds: Double) throws(PostgresError) -> Primary? {
        do throws(PostgresError) {
            guard let row = try session.run(Request(statement), seconds: seconds).first,
                let timeline = Int64(row.text(1), radix: 16)
            else { return nil }
            return Primary(system: row.text(0), timeline: timeline)
        } catch {
            if isUntold(error) { return nil }
            throw error
        }
    }

    /// Whether the error stays: the role has no right to the functions, or they are missing. A statement that was canceled, or had
    /// no resources, may succeed in the next session.
    static func isUntold(_ error: PostgresError) -> Bool {
        guard case .refused(_, let state, _) = error else { return false }
        return !["53", "57"].contains { state.hasPrefix($0) }
    }
}

/// To which primary the sessions of this process go. Any thread.
///
/// What a process has in memory, it has from one primary. A standby that was promoted may lack the end of what the former primary
/// had flushed, and others may have written to it since, so that the lengths of the lists say nothing. So no session continues with
/// another one: the process has to forget all, and recover as at a start. From then on it refuses the older primary, which may
/// come back and not know that it is none.
final class PrimaryWatch: Sendable {
    private struct State {
        /// The newest one that was seen.
        var newest: Primary?
        /// Memory is of the newest one.
        var isUsed = false
        var end: String?
    }

    private let state: Mutex<State>

    /// - Parameter newest: the newest one that an earlier life of this process has seen.
    init(newest: Primary?) { state = Mutex(State(newest: newest)) }

    /// Why what this process has in memory may not be true any more.
    var end: String? { state.withLock { $0.end } }

    func end(_ reason: String) { state.withLock { $0.end = $0.end ?? reason } }

    var newest: Primary? { state.withLock { $0.newest } }

    /// - Parameter found: `nil` if it is not known.
    /// - Throws: if a session with it must not be used.
    func admit(_ found: Primary?) throws(PostgresError) {
        guard let found else { return }
        let problem = state.withLock { state -> String? in
            if let newest = state.newest, newest != found {
                if newest.system == found.system, newest.timeline > found.timeline {
                    return
                        "it is on timeline \(found.timeline), and another server has taken over with \(newest.timeline)"
                }
                if state.isUsed {
                    let reason = "another server has taken over, with timeline \(found.timeline)"
                    state.end = state.end ?? reason
                }
            }
            state.newest = found
            state.isUsed = true
            return state.end
        }
        if let problem { throw .unavailable(problem) }
    }
}
