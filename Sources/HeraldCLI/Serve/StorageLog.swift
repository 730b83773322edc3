import Glibc
import HeraldCore
import HeraldModel
import Synchronization

/// Logs a line when the storage begins to fail, when it works again, and when an app fills it. Stops the server if its store is
/// not the one that it has opened any more, or not as it has left it.
final class StorageLog: StorageObserver {
    private let log: Log
    private let place: String
    private let state = Mutex(State())

    enum Loss: Sendable {
        /// The data folder was removed or replaced.
        case folder
        /// The database is another one than what the process has in memory.
        case memory
    }

    private struct State {
        var loss: Loss?
        /// The server stops, whatever is lost.
        var isOver = false
    }

    /// - Parameter place: where the events are.
    init(_ log: Log, place: String) {
        self.log = log
        self.place = place
    }

    func storageChanged(_ change: StorageHealth.Change) {
        let place = place
        switch change {
        case .failed(.commits, let error):
            log.write(.error, "the storage has failed, and requests that write are refused with 503") {
                ["data": place, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .failed(.checkpoints, let error):
            log.write(.error, "the write-ahead log cannot be copied into the database, and grows") {
                ["data": place, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .recovered(let milliseconds, let refused):
            log.write(.info, "the storage works again") {
                ["data": place, "seconds": String(Double(milliseconds) / 1000), "requests_refused": String(refused)]
            }
        case .unreadable(let error):
            log.write(.error, "a stored row cannot be read, and requests that read it are refused with 500") {
                ["data": place, "reason": error.description]
            }
        case .unread(let error):
            log.write(.error, "the store cannot be read: requests for it get 503; late deliveries and retention wait") {
                ["data": place, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .unfollowed(let error):
            log.write(.error, "cannot follow other nodes: what they commit or leave is not delivered") {
                ["data": place, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .kept(let error):
            log.write(.warning, "an empty partition cannot be dropped: the database keeps its files") {
                [
                    "data": place, "reason": error.description,
                    "to_do": "end what locks it, or drop what depends on it; Herald tries again each minute",
                ]
            }
        case .crowded(let app, let bytes, let total):
            log.write(.warning, "events of all apps are removed before --retention, because of --retention-size") {
                [
                    "largest_app": app.settings.name, "stored_bytes": String(bytes), "all_stored_bytes": String(total),
                    "to_do": "run `herald apps change \(app.settings.name) --max-stored-bytes NUMBER`, or raise "
                        + "--retention-size",
                ]
            }
        case .lost(let error):
            let loss: Loss = if case .replaced = error { .memory } else { .folder }
            let isOver = state.withLock { state in
                if !state.isOver { state.loss = loss }
                return state.isOver
            }
            if isOver {
                return log.error("the storage was lost during the stop", ["reason": error.description])
            }
            if case .replaced(_, let reason) = error {
                log.warning(
                    "restarting within this process: its state in memory may no longer match the database",
                    ["data": place, "reason": reason])
            } else {
                log.error("stopping: the data folder is no longer the one that is open", ["reason": error.description])
            }
            // The main thread waits for signals and stops everything in order. Until then, publications are refused.
            kill(getpid(), SIGTERM)
        }
    }

    /// The server begins to stop. A later loss sends no signal, which would be taken for a second one, and end the process at once.
    /// - Returns: why it was sent SIGTERM, if it was for a loss.
    func end() -> Loss? {
        state.withLock { state in
            state.isOver = true
            return state.loss
        }
    }

    private static func advice(_ error: StoreError) -> String {
        switch error {
        case .full:
            "free space on the disk that has the events; Herald tries again by itself, and keeps less with a lower --retention-size"
        case .inputOutput: "check the log of the system for errors of this disk; Herald retries by itself"
        case .unavailable, .unknown: "check that the store can be reached; Herald tries again by itself"
        case .notWritable: "check that the file system or the database is not read-only; Herald tries again by itself"
        case .corrupt, .unreadable: "stop Herald, and restore a backup"
        default: "Herald tries again by itself; if this stays, restart it"
        }
    }
}
