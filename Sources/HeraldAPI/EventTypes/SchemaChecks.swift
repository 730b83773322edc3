import HeraldCore
import HeraldJSON
import HeraldModel
import Synchronization

/// Validates the data of posted events with the JSON Schemas of the catalogue.
///
/// Any thread. The lock guards the compiled schemas; it is held for a look-up, and never during validation.
final class SchemaChecks: Sendable {
    /// The threads that validate.
    let pool: WorkPool

    private struct Compiled {
        let version: EventTypeSummary
        let schema: JSONSchema
    }

    private struct Cache {
        private var apps: [AppKey: [String: Compiled]] = [:]
        private var sizes: [AppKey: Int] = [:]

        func find(_ version: EventTypeSummary) -> JSONSchema? {
            guard let known = apps[version.app]?[version.type], known.version.isSameVersion(as: version) else {
                return nil
            }
            return known.schema
        }

        /// Beyond the limit, the schemas of the app that has most are dropped, including those of deleted types. So an app
        /// with many schemas does not push out those of others.
        mutating func add(_ new: Compiled, maxSize: Int) {
            let app = new.version.app
            let old = apps[app, default: [:]].updateValue(new, forKey: new.version.type)
            sizes[app, default: 0] += new.schema.size - (old?.schema.size ?? 0)
            while sizes.values.reduce(0, +) > maxSize, let largest = sizes.max(by: { $0.value < $1.value })?.key {
                apps[largest] = nil
                sizes[largest] = nil
            }
        }
    }

    /// The cost of reading a schema from the store, in steps: so high that it is never done on the thread that serves small requests.
    private static let readSteps = 2_500

    /// In units of `JSONSchema.size`.
    private let maxSize: Int
    private let hub: Hub
    private let compiled = Mutex(Cache())
    /// Events that did not match, with `report`.
    private let warned = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let null: JSONDocument?

    init(_ hub: Hub, _ pool: WorkPool, maxSize: Int = 500_000) {
        self.maxSize = maxSize
        self.hub = hub
        self.pool = pool
        null = try? JSONDocument(parsing: "null")
    }

    var counts: [(check: EventTypeRecord.Check, count: Int)] {
        [(.report, warned.load(ordering: .relaxed)), (.enforce, refused.load(ordering: .relaxed))]
    }

    /// The description of the event's type if its data must be validated; `nil` for most events. Cheap.
    func description(for event: Event) -> EventTypeSummary? {
        if hub.committed.catalogue.isEmpty { return nil }
        guard let found = hub.committed.catalogue.summary(event.app, event.type), found.check != .off, found.hasSchema
        else {
            return nil
        }
        return found
    }

    /// The violations of the schema. Not for a loop's thread.
    /// - Parameters:
    ///   - pointer: the pointer of `data` in the request's body.
    ///   - budget: if it is exhausted, the result is meaningless.
    func violations(
        of data: JSONValue?, at pointer: String, _ description: EventTypeSummary, within budget: inout WorkBudget
    ) throws(Problem) -> [FieldError] {
        let read = { [hub] () throws(HubError) in
            try hub.readAndWait(app: description.app) { reader throws(StoreError) in
                try reader.eventTypes([description.type], app: description.app).first
            }
        }
        let found = try problem { () throws(HubError) in try schema(of: description, within: &budget, read) }
        guard let schema = found, let data = data ?? null?.root else { return [] }
        return schema.violations(of: data, within: &budget).map { FieldError(pointer + $0.pointer, $0.detail) }
    }

    /// The violations for which an event from SQL is refused. A reader's thread.
    func violations(
        of draft: EventDraft, _ data: JSONValue, _ reader: any StoreReader, within budget: inout WorkBudget
    ) throws(StoreError) -> [FieldError] {
        guard let description = description(for: draft.event),
            let schema = try schema(
                of: description, within: &budget,
                { () throws(StoreError) in try reader.eventTypes([description.type], app: description.app).first })
        else { return [] }
        let found = schema.violations(of: data, within: &budget).map { FieldError("/data" + $0.pointer, $0.detail) }
        if !found.isEmpty, !budget.isSpent { count(description.check) }
        return description.check == .enforce ? found : []
    }

    /// Counts events that did not match, when their request is complete.
    func count(_ check: EventTypeRecord.Check) {
        if check == .report {
            warned.add(1, ordering: .relaxed)
        } else {
            refused.add(1, ordering: .relaxed)
        }
    }

    /// Compiled once for each version of the type's description, as long as the cache has room. The text is in the store.
    private func schema<Failure: Error>(
        of version: EventTypeSummary, within budget: inout WorkBudget,
        _ read: () throws(Failure) -> EventTypeRecord?
    ) throws(Failure) -> JSONSchema? {
        if let known = compiled.withLock({ $0.find(version) }) { return known }
        guard budget.spend(Self.readSteps) else { return nil }
        let record = try read()
        // It compiled when the type was described.
        guard let record, let text = record.schema,
            let document = try? JSONDocument(parsing: text, limits: EventTypeInput.limits),
            let schema = try? JSONSchema(document.root, assertsFormats: record.assertsFormats, within: &budget)
        else { return nil }
        let entry = Compiled(version: EventTypeSummary(record), schema: schema)
        compiled.withLock { $0.add(entry, maxSize: maxSize) }
        return schema
    }
}
