import Herald
import JSON
import JSONSchema
import Synchronization

/// Holds the data of posted events against the JSON Schemas of the catalogue.
///
/// Any thread. The lock guards the compiled schemas; it is held for a look-up, and never while data is checked.
final class SchemaChecks: Sendable {
    enum Verdict {
        case fits
        /// The event is taken, and its publisher told.
        case warns([FieldError])
        case refuses([FieldError])
    }

    private struct Compiled {
        let record: EventTypeRecord
        let schema: JSONSchema
    }

    private let catalogue: EventTypeCatalogue
    private let compiled = Mutex<[String: Compiled]>([:])
    /// Events that did not fit.
    private let warned = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let null: JSONDocument?

    init(_ catalogue: EventTypeCatalogue) {
        self.catalogue = catalogue
        null = try? JSONDocument(parsing: "null")
    }

    var counts: [(check: EventTypeRecord.Check, count: Int)] {
        [(.report, warned.load(ordering: .relaxed)), (.enforce, refused.load(ordering: .relaxed))]
    }

    /// - Parameter pointer: where `data` stands in the request's body.
    func check(
        _ event: Event, data: @autoclosure () -> JSONValue?, at pointer: @autoclosure () -> String
    ) -> Verdict {
        if catalogue.isEmpty { return .fits }
        guard let record = catalogue.record(event.app, event.type), record.check != .off,
            let schema = schema(of: record), let data = data() ?? null?.root
        else { return .fits }
        let pointer = pointer()
        let violations = schema.violations(of: data).map { FieldError(pointer + $0.pointer, $0.detail) }
        if violations.isEmpty { return .fits }
        if record.check == .report {
            warned.add(1, ordering: .relaxed)
            return .warns(violations)
        }
        refused.add(1, ordering: .relaxed)
        return .refuses(violations)
    }

    /// Compiled once for each version of the type's description.
    private func schema(of record: EventTypeRecord) -> JSONSchema? {
        let key = "\(record.app.rawValue) \(record.type)"
        if let known = compiled.withLock({ $0[key] }), known.record == record { return known.schema }
        // It was compiled when it was described.
        guard let text = record.schema,
            let document = try? JSONDocument(parsing: text, limits: EventTypeInput.limits),
            let schema = try? JSONSchema(document.root)
        else { return nil }
        compiled.withLock { compiled in
            // Types that were removed since then are forgotten together.
            if compiled.count > EventTypeWrite.maxTypes { compiled = [:] }
            compiled[key] = Compiled(record: record, schema: schema)
        }
        return schema
    }
}
