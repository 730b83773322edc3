import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// The sizes of the storage, the removals by retention, and the time of the last write.
struct StorageEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] { [Route(.get, "/v1/storage", needs: .admin, show)] }

    private func show(_ call: Call) throws(Problem) {
        try call.answer(from: hub) { reader in
            let sizes = try reader.sizes()
            let removals = try reader.removals()
            let limits = hub.retentionLimits
            call.send { json in
                json.object("events") { events in
                    events.member("bytes", sizes.events)
                    events.member("max_bytes", limits.bytes)
                    events.member("max_age_seconds", limits.events.map { $0 / 1000 })
                }
                json.object("attempts") { attempts in
                    attempts.member("bytes", sizes.attempts)
                    attempts.member("max_bytes", limits.attemptBytes)
                    attempts.member("max_age_seconds", limits.attempts.map { $0 / 1000 })
                }
                json.member("free_bytes", sizes.free)
                json.member("log_bytes", sizes.log)
                json.array("removed", of: removals.complete) { removal, entry in
                    entry.member("what", removal.part.rawValue)
                    entry.member("cause", removal.cause.rawValue)
                    entry.member("count", removal.count)
                }
                json.member("works", (try? hub.health()) != nil)
                json.member("last_commit_at", time(hub.storage.lastCommit))
                json.member("last_checkpoint_at", time(hub.storage.lastCheckpoint))
                let backups = hub.storage.backups
                json.member("last_backup_at", time(backups?.last ?? 0))
                json.member("failed_backups", backups?.failures ?? 0)
            }
        }
    }

    private func time(_ milliseconds: Int64) -> Timestamp? {
        milliseconds > 0 ? Timestamp(milliseconds: milliseconds) : nil
    }
}

extension [Removal] {
    /// One for each part and cause, also for those of which nothing was removed.
    var complete: [Removal] {
        Removal.Part.allCases.flatMap { part in
            Removal.Cause.allCases.map { cause in
                let known = first { $0.part == part && $0.cause == cause }
                return Removal(part, cause, count: known?.count ?? 0)
            }
        }
    }
}
