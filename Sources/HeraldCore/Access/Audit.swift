/// Who asks for a change, and with which request: what the audit log keeps of it once it was made.
public struct Provenance: Equatable, Sendable {
    /// The id of a key, or `operator`, `portal` or `anyone`.
    public let actor: String
    /// The client's address, without its port.
    public let address: String
    /// The operation: `POST /v1/delegates/{id}/pause`.
    public let action: String

    public init(actor: String, address: String, action: String) {
        self.actor = actor
        self.address = address
        self.action = action
    }
}

/// An entry of the audit log: a change that was made.
public struct AuditEntry: Equatable, Sendable {
    public let provenance: Provenance
    public let app: AppKey
    /// The id of the delegate, the key or the app; `nil`: all delegates of the app.
    public let target: String?
    /// Milliseconds since 1970 UTC.
    public let time: Int64

    public init(_ provenance: Provenance, app: AppKey, target: String?, time: Int64) {
        self.provenance = provenance
        self.app = app
        self.target = target
        self.time = time
    }

    /// How many are kept; the oldest go.
    public static let limit: Int64 = 100_000
}

/// An entry as it stands in the log.
public struct StoredAuditEntry: Equatable, Sendable {
    /// Increasing without gaps; not used again.
    public let id: Int64
    public let entry: AuditEntry

    public init(id: Int64, entry: AuditEntry) {
        self.id = id
        self.entry = entry
    }
}
