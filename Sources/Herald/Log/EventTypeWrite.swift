/// A change of the catalogue of event types: what is asked for, and who waits for it.
public struct EventTypeWrite: Sendable {
    /// What a client says of a type.
    public struct Description: Equatable, Sendable {
        public var text = ""
        /// A JSON value.
        public var example: [UInt8]?
        /// A JSON Schema.
        public var schema: [UInt8]?
        public var check = EventTypeRecord.Check.off
        public init() {}
    }

    public enum Action: Sendable {
        /// Adds or replaces.
        case set(Description)
        case remove
    }

    public enum Outcome: Sendable {
        case added(EventTypeRecord)
        case replaced(EventTypeRecord)
        case removed
        case notFound
        /// It has changed since `ifVersion`, or is not there.
        case versionMismatch
        /// There are as many types as there may be.
        case tooMany
    }

    /// Types of one app.
    public static let maxTypes = 1_000

    public let app: AppKey
    public let type: String
    /// Only this version; `nil`: any.
    public let ifVersion: Int64?
    public let action: Action
    /// For the audit log; `nil`: the process itself asks, which is not noted.
    public let provenance: Provenance?
    /// Called once on the writer's thread (or at once, when it is refused); must not wait.
    public let completion: @Sendable (WriteResult<Outcome>) -> Void

    public init(
        app: AppKey = .default, type: String, ifVersion: Int64? = nil, action: Action, provenance: Provenance? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.type = type
        self.ifVersion = ifVersion
        self.action = action
        self.provenance = provenance
        self.completion = completion
    }
}
