package import HeraldJSON
package import HeraldModel
import HeraldRuntime

/// A change of the catalogue of event types, with its completion.
package struct EventTypeWrite: Sendable {
    /// The description of a type by a client, with the properties of `EventTypeRecord`.
    package struct Description: Equatable, Sendable {
        package var text = ""
        package var example: [UInt8]?
        package var schema: [UInt8]?
        package var check = EventTypeRecord.Check.off
        package var assertsFormats = false
        package init() {}
    }

    package enum Action: Sendable {
        /// Adds or replaces.
        case set(Description)
        case remove
    }

    package enum Outcome: Sendable {
        case added(EventTypeRecord)
        case replaced(EventTypeRecord)
        case removed
        /// Also an app that was deleted in the meantime.
        case notFound
        /// It has changed since `ifVersion`, or does not exist.
        case versionMismatch
        /// The maximum number of types is reached.
        case tooMany
    }

    /// Per app.
    package static let maxTypes = 1_000

    package let app: AppKey
    package let type: String
    /// Only these versions, 0 for a type without a description; `nil` for any.
    package let ifVersion: Set<Int64>?
    /// Sets only a type that has a description, of any version. A removal finds nothing without one.
    package var mustExist = false
    package let action: Action
    package let provenance: Provenance?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, type: String, ifVersion: Set<Int64>? = nil, action: Action,
        provenance: Provenance? = nil,
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
    package static let maxExampleBytes = 16_384
    private static let maxTextCharacters = 2_048

    /// All errors, with the field names of the HTTP API. The compiler of schemas reports errors in the schema.
    package var problems: [FieldError] {
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

    /// Enough for any body; its size is the limit.
    package static let limits = JSONLimits(values: 50_000, keyBytes: 1_024)

    private static func isJSON(_ text: [UInt8]) -> Bool { (try? JSONDocument(parsing: text, limits: limits)) != nil }
}

extension EventTypeWrite: RequestCommand {
    package var endsTransaction: Bool { true }
    /// `nil`, because repeating the same description has no effect.
    package var idempotency: Idempotency<Outcome>? { nil }

    package func checked(by rules: WebhookRules) -> Self? {
        let problems = problems
        if problems.isEmpty { return self }
        refuse(.invalid(problems))
        return nil
    }

    package func growth(_ context: WriteContext) -> KeptMemory.Growth? {
        guard case .set = action, context.committed.catalogue.summary(app, type) == nil else { return nil }
        return KeptMemory.Growth(app: app, bytes: EventTypeSummary.keptBytes(of: type))
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let current = context.committed.catalogue.summary(app, type)
        if let ifVersion, !ifVersion.contains(current?.version ?? 0) { return .versionMismatch }
        switch action {
        case .remove:
            guard current != nil else { return .notFound }
            try transaction.removeEventType(type, app: app)
            plan.effects.append(.removeEventType(type, app))
            try context.record(provenance, app, target: type, transaction)
            return .removed
        case .set(let description):
            guard context.committed.apps[app] != nil else { return .notFound }
            if mustExist, current == nil { return .versionMismatch }
            if current == nil, context.committed.catalogue.count(of: app) >= Self.maxTypes { return .tooMany }
            let now = context.clock.wall()
            let record = EventTypeRecord(
                app: app, type: type, description: description.text, example: description.example,
                schema: description.schema, check: description.check, assertsFormats: description.assertsFormats,
                createdAt: current?.createdAt ?? now, updatedAt: now, version: current.map { $0.version + 1 } ?? now)
            try transaction.setEventType(record)
            plan.effects.append(.setEventType(record))
            try context.record(provenance, app, target: type, transaction)
            return current == nil ? .added(record) : .replaced(record)
        }
    }
}
