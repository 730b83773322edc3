import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// The audit log: changes of delegates, keys and apps.
struct AuditEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] { [Route(.get, "/v1/audit", needs: .admin, takesQuery: true, list)] }

    /// Entries of all apps, newest first.
    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("limit", "cursor")
        let limit = try query.limit()
        let before = try call.cursor(query, .auditEntry) ?? .max
        try call.answer(from: hub) { reader in
            let found = try reader.audit(before: before, limit: limit + 1)
            call.send(page: found, query, limit: limit, cursor: { call.sealed($0.id, .auditEntry) }) { stored, json in
                let entry = stored.entry
                json.member("time", .timestamp(entry.time))
                json.member("actor", entry.provenance.actor)
                json.member("address", entry.provenance.address)
                json.member("action", entry.provenance.action)
                json.member("target", entry.target)
                // A deleted app has no id.
                json.member("app", hub.committed.apps[entry.app]?.id)
            }
        }
    }
}
