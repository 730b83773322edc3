import Glibc
import HeraldCore
import Synchronization

/// Logs a line when the storage begins to fail and when it works again. Stops the server if its folder is lost.
final class StorageLog: StorageObserver {
    private let log: Log
    private let folder: String
    private let hasLostFolder = Atomic<Bool>(false)

    init(_ log: Log, folder: String) {
        self.log = log
        self.folder = folder
    }

    func storageChanged(_ change: StorageHealth.Change) {
        let folder = folder
        switch change {
        case .failed(.commits, let error):
            log.write(.error, "the storage has failed, and requests that write are refused with 503") {
                ["data": folder, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .failed(.checkpoints, let error):
            log.write(.error, "the write-ahead log cannot be copied into the database, and grows") {
                ["data": folder, "reason": error.description, "to_do": Self.advice(error)]
            }
        case .recovered(let milliseconds, let refused):
            log.write(.info, "the storage works again") {
                ["data": folder, "seconds": String(Double(milliseconds) / 1000), "requests_refused": String(refused)]
            }
        case .lost(let error):
            log.error("stopping: the data folder is no longer the one that is open", ["reason": error.description])
            hasLostFolder.store(true, ordering: .releasing)
            // The main thread waits for signals and stops everything in order. Until then, publications are refused.
            kill(getpid(), SIGTERM)
        }
    }

    /// Whether the server was sent SIGTERM for this reason.
    var isLost: Bool { hasLostFolder.load(ordering: .acquiring) }

    private static func advice(_ error: StoreError) -> String {
        switch error {
        case .full:
            "free space on this file system; Herald tries again by itself, and keeps less with a lower --retention-size"
        case .inputOutput: "look for errors of this disk in the log of the system; Herald tries again by itself"
        case .unavailable, .unknown: "check that the store can be reached; Herald tries again by itself"
        case .notWritable: "check that the file system is not mounted read-only; Herald tries again by itself"
        case .corrupt: "stop Herald, and restore a backup"
        default: "Herald tries again by itself; if this stays, restart it"
        }
    }
}
