import HeraldCore
import HeraldJSON
import HeraldSchema
import Synchronization

/// Validates the data of posted events with the JSON Schemas of the catalogue.
///
/// Any thread. The lock guards the compiled schemas; it is held for a look-up, and never during validation.
final class SchemaChecks: Sendable {
    /// The threads that validate.
    let pool: WorkPool

    private struct Compiled {
        let record: EventTypeRecord
        let schema: JSONSchema
    }

    private struct Cache {
        var entries: [String: Compiled] = [:]
        /// Of all cached schemas.
        var size = 0
    }

    /// In units of `JSONSchema.size`.
    private let maxSize: Int
    private let catalogue: EventTypeCatalogue
    private let compiled = Mutex(Cache())
    /// Events that did not match, with `report`.
    private let warned = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let null: JSONDocument?

    init(_ catalogue: EventTypeCatalogue, _ pool: WorkPool, maxSize: Int = 500_000) {
        self.maxSize = maxSize
        self.catalogue = catalogue
        self.pool = pool
        null = try? JSONDocument(parsing: "null")
    }

    var counts: [(check: EventTypeRecord.Check, count: Int)] {
        [(.report, warned.load(ordering: .relaxed)), (.enforce, refused.load(ordering: .relaxed))]
    }

    /// The description of the event's type if its data must be validated; `nil` for most events. Cheap.
    func record(for event: Event) -> EventTypeRecord? {
        if catalogue.isEmpty { return nil }
        guard let record = catalogue.record(event.app, event.type), record.check != .off, record.schema != nil else {
            return nil
        }
        return record
    }

    /// The violations of the schema. Not for a loop's thread.
    /// - Parameters:
    ///   - pointer: the pointer of `data` in the request's body.
    ///   - budget: if it is exhausted, the result is meaningless.
    func violations(
        of data: JSONValue?, at pointer: String, _ record: EventTypeRecord, within budget: inout WorkBudget
    ) -> [FieldError] {
        guard let schema = schema(of: record, within: &budget), let data = data ?? null?.root else { return [] }
        return schema.violations(of: data, within: &budget).map { FieldError(pointer + $0.pointer, $0.detail) }
    }

    /// Counts events that did not match, when their request is complete.
    func count(_ check: EventTypeRecord.Check) {
        if check == .report {
            warned.add(1, ordering: .relaxed)
        } else {
            refused.add(1, ordering: .relaxed)
        }
    }

    /// Compiled once for each version of the type's description.
    private func schema(of record: EventTypeRecord, within budget: inout WorkBudget) -> JSONSchema? {
        let key = "\(record.app.rawValue) \(record.type)"
        if let known = compiled.withLock({ $0.entries[key] }), known.record == record { return known.schema }
        // It compiled when the type was described.
        guard let text = record.schema,
            let document = try? JSONDocument(parsing: text, limits: EventTypeInput.limits),
            let schema = try? JSONSchema(document.root, assertsFormats: record.assertsFormats, within: &budget)
        else { return nil }
        compiled.withLock { compiled in
            // Beyond the limit, all cached schemas are dropped together, including those of deleted types.
            if compiled.size + schema.size > maxSize { compiled = Cache() }
            compiled.size += schema.size - (compiled.entries[key]?.schema.size ?? 0)
            compiled.entries[key] = Compiled(record: record, schema: schema)
        }
        return schema
    }
}
