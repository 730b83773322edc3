/// The client and the request of a change, for the audit log.
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

/// An entry of the audit log.
package struct AuditEntry: Equatable, Sendable {
    package let provenance: Provenance
    package let app: AppKey
    /// The id of the delegate, the key or the app; `nil` for all delegates of the app.
    package let target: String?
    /// Milliseconds since 1970 UTC.
    package let time: Int64

    package init(_ provenance: Provenance, app: AppKey, target: String?, time: Int64) {
        self.provenance = provenance
        self.app = app
        self.target = target
        self.time = time
    }

    /// The number of entries that are kept.
    package static let limit: Int64 = 100_000
    /// The number of entries beyond the limit before some are removed: counting reads all of them.
    package static let slack: Int64 = 1_000
}

/// A stored entry of the audit log.
package struct StoredAuditEntry: Equatable, Sendable {
    /// Increasing without gaps; never reused.
    package let id: Int64
    package let entry: AuditEntry

    package init(id: Int64, entry: AuditEntry) {
        self.id = id
        self.entry = entry
    }
}
