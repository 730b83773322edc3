import Glibc
import HeraldCore
import HeraldJSON
import HeraldRuntime
import HeraldSQLite
import Synchronization

/// Backups that the server makes by itself, each on a thread of its own, with a low priority.
///
/// The hub's timer wakes it; the lock guards the thread of the backup under way.
final class BackupSchedule: Sendable {
    struct Plan: Sendable {
        /// `nil`: none are made.
        var folder: String?
        /// Milliseconds between two.
        var every: Int64 = 86_400_000
        /// How many are kept.
        var keep = 7
    }

    /// After one that failed.
    private static let retryMilliseconds: Int64 = 300_000
    private static let (prefix, suffix) = ("herald-", ".backup")

    private struct State {
        var thread: Thread?
        var isStopped = false
    }

    private let folder: String
    private let plan: Plan
    private let data: String
    private let hub: Hub
    private let log: Log
    private let state = Mutex(State())

    /// - Parameter data: the folder of the database.
    init?(_ plan: Plan, data: String, hub: Hub, log: Log) {
        guard let folder = plan.folder else { return nil }
        self.folder = folder
        self.plan = plan
        self.data = data
        self.hub = hub
        self.log = log
    }

    /// Waits until the next backup is due: also that of a server that was down when it was.
    func start() {
        let last = Self.times(names).last.map { $0 + plan.every } ?? 0
        wait(until: last)
    }

    /// Ends the backup under way, and returns when it has ended.
    func stop() {
        let thread = state.withLock { state in
            state.isStopped = true
            return state.thread.take()
        }
        thread?.join()
    }

    private func wait(until time: Int64) {
        let milliseconds = max(0, time - hub.clock.wall())
        hub.after(seconds: Int((milliseconds + 999) / 1000)) { [weak self] in self?.begin() }
    }

    private func begin() {
        state.withLock { state in
            guard !state.isStopped else { return }
            // The one before has planned this one as its last act.
            state.thread?.detach()
            state.thread = try? Thread(name: "backup", priority: .low) { [self] in make() }
        }
    }

    private func make() {
        let started = hub.clock.wall()
        let path = "\(folder)/\(Self.name(at: started))"
        do {
            let size = try Backup.make(of: data, to: path) { [self] _, _ in !state.withLock { $0.isStopped } }
            log.info(
                "backup made",
                ["file": path, "bytes": String(size), "seconds": String((hub.clock.wall() - started) / 1000)])
            removeOld()
            wait(until: started + plan.every)
        } catch {
            if state.withLock({ $0.isStopped }) { return }
            log.error("backup failed", ["file": path, "reason": Server.explain(error).text])
            wait(until: started + min(plan.every, Self.retryMilliseconds))
        }
    }

    private func removeOld() {
        for name in names.dropLast(plan.keep) { unlink("\(folder)/\(name)") }
    }

    // MARK: Names

    /// Of the backups in the folder, the oldest first: the names have their times.
    private var names: [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if Self.time(name) != nil { names.append(name) }
        }
        return names.sorted()
    }

    /// `herald-2026-11-22T210000.000Z.backup`.
    private static func name(at time: Int64) -> String {
        prefix + Timestamp(milliseconds: time).description.filter { $0 != ":" } + suffix
    }

    /// Milliseconds since 1970 UTC; `nil`: it is no backup of a schedule.
    private static func time(_ name: String) -> Int64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        var text = Array(name.dropFirst(prefix.count).dropLast(suffix.count))
        guard text.count == 22 else { return nil }
        text.insert(":", at: 13)
        text.insert(":", at: 16)
        return Timestamp(rfc3339: String(text))?.milliseconds
    }

    private static func times(_ names: [String]) -> [Int64] { names.compactMap(time) }
}
