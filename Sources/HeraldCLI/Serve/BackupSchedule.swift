import Glibc
import HeraldCore
import HeraldJSON
import HeraldRuntime
import HeraldSQLite
import Synchronization

/// Scheduled backups of the server, each on a thread of its own with a low priority.
///
/// The hub's timer wakes it; the lock guards the thread of the backup under way.
final class BackupSchedule: Sendable {
    struct Plan: Sendable {
        /// `nil` to make no backups.
        var folder: String?
        /// Milliseconds between two backups.
        var every: Int64 = 86_400_000
        var keep = 7
    }

    private static let retryMilliseconds: Int64 = 300_000
    private static let (prefix, suffix) = ("herald-", ".backup")
    /// The suffixes of the files of a backup that is not complete.
    private static let partial = [".partial", ".partial.lock"]

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

    /// Waits until the next backup is due. A backup that was due while the server was down is made immediately.
    func start() {
        let last = names.last.flatMap(Self.time)
        hub.storage.backups { $0 = .init(interval: plan.every, last: last ?? 0) }
        wait(until: last.map { $0 + plan.every } ?? 0)
    }

    /// Cancels the backup under way, and returns when it has ended.
    func stop() {
        let thread = state.withLock { state in
            state.isStopped = true
            return state.thread.take()
        }
        thread?.join()
    }

    private func wait(until time: Int64) {
        // The wall clock may have been set back since the last backup.
        let milliseconds = min(max(0, time - hub.clock.wall()), plan.every)
        hub.after(milliseconds: Int(milliseconds)) { [weak self] in self?.begin() }
    }

    private func begin() {
        let failure = state.withLock { state -> SystemError? in
            guard !state.isStopped else { return nil }
            // The previous thread scheduled this backup as its last action.
            state.thread.take()?.detach()
            do throws(SystemError) {
                state.thread = try Thread(name: "backup", priority: .low) { [self] in make() }
                return nil
            } catch {
                return error
            }
        }
        if let failure { report(failure.description, at: hub.clock.wall()) }
    }

    /// Makes the backup later.
    private func report(_ reason: String, _ file: String? = nil, at time: Int64) {
        hub.storage.backups { $0?.failures += 1 }
        log.error("backup failed", ["file": file, "reason": reason])
        wait(until: time + min(plan.every, Self.retryMilliseconds))
    }

    private func make() {
        let started = hub.clock.wall()
        let path = "\(folder)/\(Self.name(at: started))"
        removePartial()
        do {
            let size = try Backup.make(of: data, to: path) { [self] _, _ in !state.withLock { $0.isStopped } }
            for name in names.dropLast(plan.keep) { unlink("\(folder)/\(name)") }
            hub.storage.backups { $0?.last = started }
            log.info(
                "backup made",
                ["file": path, "bytes": String(size), "seconds": String((hub.clock.wall() - started) / 1000)])
            wait(until: started + plan.every)
        } catch {
            if state.withLock({ $0.isStopped }) { return }
            report(CommandError(explaining: error).description, path, at: started)
        }
    }

    /// Removes what a crash has left of earlier backups. Must be called while none is made.
    private func removePartial() {
        for name in files {
            let ends = Self.partial.filter { name.hasSuffix($0) }
            guard ends.contains(where: { Self.time(String(name.dropLast($0.count))) != nil }) else { continue }
            unlink("\(folder)/\(name)")
        }
    }

    /// The names of the backups in the folder, oldest first: they contain their times. A time to come is that of a wrong
    /// clock: such a backup neither delays the next one nor is one of those that are kept.
    private var names: [String] {
        let now = hub.clock.wall()
        return files.filter { Self.time($0).map { $0 <= now } ?? false }.sorted()
    }

    private var files: [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    /// `herald-2026-11-22T210000.000Z.backup`.
    private static func name(at time: Int64) -> String {
        prefix + Timestamp(milliseconds: time).description.filter { $0 != ":" } + suffix
    }

    /// Milliseconds since 1970 UTC; `nil` if the name is not that of a scheduled backup.
    private static func time(_ name: String) -> Int64? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        var text = Array(name.dropFirst(prefix.count).dropLast(suffix.count))
        guard text.count == 22 else { return nil }
        text.insert(":", at: 13)
        text.insert(":", at: 16)
        return Timestamp(rfc3339: String(text))?.milliseconds
    }
}
