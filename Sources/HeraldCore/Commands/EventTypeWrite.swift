public import HeraldJSON

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

extension EventTypeWrite {
    public static let maxExampleBytes = 16_384
    private static let maxTextCharacters = 2_048

    /// Everything that is wrong, by the names of the HTTP API. What a schema says, its compiler knows.
    public var problems: [FieldError] {
        guard case .set(let description) = action else { return [] }
        var errors: [FieldError] = []
        if let problem = EventInput.problem(ofType: type) { errors.append(FieldError("/type", problem)) }
        if description.text.unicodeScalars.count > Self.maxTextCharacters {
            errors.append(
                FieldError("/description", "must be a string of at most \(Self.maxTextCharacters) characters"))
        }
        if description.schema == nil, description.check != .off {
            errors.append(FieldError("/check", "must be off as long as there is no schema"))
        }
        if let example = description.example {
            if example.count > Self.maxExampleBytes {
                errors.append(FieldError("/example", "must have at most \(Self.maxExampleBytes) bytes"))
            } else if !Self.isJSON(example) {
                errors.append(FieldError("/example", "must be one JSON value"))
            }
        }
        if let schema = description.schema, !Self.isJSON(schema) {
            errors.append(FieldError("/schema", "must be one JSON value"))
        }
        return errors
    }

    /// As much as fits into a body; the size bounds it.
    public static let limits = JSONLimits(values: 50_000, keyBytes: 1_024)

    private static func isJSON(_ text: [UInt8]) -> Bool { (try? JSONDocument(parsing: text, limits: limits)) != nil }
}
