/// Who asks for a change, and with which request: what the audit log keeps of it once it was made.
package struct Provenance: Equatable, Sendable {
    /// The id of a key, or `operator`, `portal` or `anyone`.
    package let actor: String
    /// The client's address, without its port.
    package let address: String
    /// The operation: `POST /v1/delegates/{id}/pause`.
    package let action: String

    package init(actor: String, address: String, action: String) {
        self.actor = actor
        self.address = address
        self.action = action
    }
}

/// An entry of the audit log: a change that was made.
package struct AuditEntry: Equatable, Sendable {
    package let provenance: Provenance
    package let app: AppKey
    /// The id of the delegate, the key or the app; `nil`: all delegates of the app.
    package let target: String?
    /// Milliseconds since 1970 UTC.
    package let time: Int64

    package init(_ provenance: Provenance, app: AppKey, target: String?, time: Int64) {
        self.provenance = provenance
        self.app = app
        self.target = target
        self.time = time
    }

    /// How many are kept; the oldest go.
    package static let limit: Int64 = 100_000
}

/// An entry as it stands in the log.
package struct StoredAuditEntry: Equatable, Sendable {
    /// Increasing without gaps; not used again.
    package let id: Int64
    package let entry: AuditEntry

    package init(id: Int64, entry: AuditEntry) {
        self.id = id
        self.entry = entry
    }
}
