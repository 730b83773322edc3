import Delegation
import HeraldCore
import HeraldModel
import HeraldRuntime

/// Passes what a hub reports to `Hub.Options.onLog`. Held by its hub.
final class HubLog: StopObserver, StorageObserver {
    private let delegates: DelegateLog
    private let write: @Sendable (LogEntry) -> Void

    init(_ hub: Hub, _ write: @escaping @Sendable (LogEntry) -> Void) {
        self.write = write
        // First: the hub has begun to publish what is due.
        hub.committed.refused.observe { event in
            write(
                LogEntry(
                    .warning, "committed event refused: it is not published",
                    ["id": event.submission.id, "type": event.submission.type, "reason": event.reason]))
        }
        delegates = DelegateLog(clock: hub.clock.wall) { level, message, fields in
            write(LogEntry(level, message, fields()))
        }
        hub.addDelegate(delegates, description: "Log: changes of delegates")
        hub.committed.registry.delegates.addDelegate(delegates)
        delegates.started(hub.committed.registry)
        hub.storage.observers.addDelegate(self)
        hub.damagedEvents.observe { position in
            write(LogEntry(.error, "event damaged: it is not served or sent any more", ["position": String(position)]))
        }
        hub.damagedRows.observe { found in
            write(
                LogEntry(
                    .error, "rows that cannot be read are left out or replaced",
                    [
                        "table": found.table, "rows": String(found.count), "first": found.row, "reason": found.reason,
                    ]))
        }
    }

    func storageChanged(_ change: StorageHealth.Change) {
        switch change {
        case .failed(.commits, let error): report(error, "the storage has failed, and publications are refused")
        case .failed(.checkpoints, let error):
            report(error, "the write-ahead log cannot be copied into the database, and grows")
        case .recovered(let milliseconds, let refused):
            write(
                LogEntry(
                    .info, "the storage works again",
                    ["seconds": String(Double(milliseconds) / 1000), "requests_refused": String(refused)]))
        case .unreadable(let error): report(error, "a stored row cannot be read, and what reads it fails")
        case .unread(let error):
            report(error, "the store cannot be read: what reads it fails; late deliveries and retention wait")
        case .unfollowed(let error):
            report(error, "cannot follow other processes: what they commit or leave is not delivered")
        case .kept(let error): report(error, "an empty part of the database cannot be dropped")
        case .crowded(let app, let bytes, let total):
            write(
                LogEntry(
                    .warning, "events of all apps are removed before their age, because the log has its size",
                    [
                        "largest_app": app.settings.name, "stored_bytes": String(bytes),
                        "all_stored_bytes": String(total),
                    ]))
        case .lost(let error): report(error, "nothing more is stored: open the folder again")
        }
    }

    private func report(_ error: StoreError, _ message: StaticString) {
        write(LogEntry(.error, message, ["reason": error.description]))
    }

    func hubHasStopped() {}
}
