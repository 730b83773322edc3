/// A change of the apps: what is asked for, and who waits for it.
public struct AppWrite: Sendable {
    public enum Action: Sendable {
        /// - Parameter id: `app_` and a ULID.
        case add(id: String, App.Settings)
        case update(id: String, ifVersion: Int64?, change: @Sendable (inout App.Settings) -> Void)
        /// Ends its delegates and keys too. Its events stay until retention takes them, and nobody can read them.
        case remove(id: String, ifVersion: Int64?)
    }

    public enum Outcome: Sendable {
        case added(App)
        case updated(App)
        case removed(App)
        case notFound
        /// It has changed since `ifVersion`.
        case versionMismatch
        /// The name belongs to another app.
        case nameTaken(App)
        /// There are as many apps as there may be.
        case tooMany
        /// `default` stays, and keeps its name.
        case isDefault
        /// What would come out of it is not allowed.
        case invalid([FieldError])
    }

    public static let maxApps = 1_000

    public let action: Action
    /// For the audit log; `nil`: the process itself asks, which is not noted.
    public let provenance: Provenance?
    public let idempotency: Idempotency<Outcome>?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        action: Action, provenance: Provenance? = nil, idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}
