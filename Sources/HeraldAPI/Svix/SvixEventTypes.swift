import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Event types are the descriptions of event types of the key's app; a schema is the latest of Svix's versions, and is not checked
/// unless its description says so.
extension SvixEndpoints {
    var eventTypeRoutes: [Route] {
        [
            route(.get, "/event-type", .read, takesQuery: true, listEventTypes),
            route(.post, "/event-type", .manage) { call throws(Problem) in
                let document = try call.json(limits: EventTypeInput.limits)
                try describe(call, Given(document, .post), of: document["name"]?.string ?? "")
            },
            route(.get, "/event-type/{event_type_name}", .read) { call throws(Problem) in
                let type = call.parameters[0]
                try call.answer(from: hub) { reader in
                    let record = try self.record(of: type, call, reader)
                    call.send { $0.svixMembers(of: record) }
                }
            },
            route(.put, "/event-type/{event_type_name}", .manage) { call throws(Problem) in
                try change(call, .put)
            },
            route(.patch, "/event-type/{event_type_name}", .manage) { call throws(Problem) in
                try change(call, .patch)
            },
            route(.delete, "/event-type/{event_type_name}", .manage, takesQuery: true) { call throws(Problem) in
                _ = try call.query("expunge").flag("expunge")
                write(call, call.parameters[0], .remove)
            },
        ]
    }

    private func listEventTypes(_ call: Call) throws(Problem) {
        let query = try call.query(SvixPage.names + ["include_archived", "with_content"])
        let page = try SvixPage(query, isAscending: true)
        try page.check(EventType.isValid)
        // Herald archives none: `include_archived` has no effect.
        _ = try query.flag("include_archived")
        let showsSchema = try query.flag("with_content")
        try call.answer(from: hub) { reader in
            let (shown, isDone) = page.page(of: described(call), id: \.type)
            var records: [EventTypeRecord] = []
            for (app, types) in Dictionary(grouping: shown, by: \.app) {
                records += try reader.eventTypes(types.map(\.type), app: app)
            }
            let places = Dictionary(zip(shown.map(\.type), 0...)) { first, _ in first }
            records.sort { places[$0.type, default: 0] < places[$1.type, default: 0] }
            call.send(records, isDone: isDone, id: \.type) { $1.svixMembers(of: $0, showsSchema: showsSchema) }
        }
    }

    /// The described types of the app; for a key of an operator, also those that only other apps have: the oldest app is first.
    private func described(_ call: Call) -> [EventTypeSummary] {
        var found = hub.committed.catalogue.list(call.app)
        guard call.principal.scopes.allow(.admin) else { return found }
        var known = Set(found.map(\.type))
        for app in hub.committed.apps.all.reversed() where app.key != call.app {
            found += hub.committed.catalogue.list(app.key).filter { known.insert($0.type).inserted }
        }
        return found.sorted { $0.type < $1.type }
    }

    /// The description of a type that the key may see. A reader's thread.
    /// - Throws: 404 if there is none.
    func record(of type: String, _ call: Call, _ reader: any StoreReader) throws -> EventTypeRecord {
        if let own = try reader.eventTypes([type], app: call.app).first { return own }
        guard let other = described(call).first(where: { $0.type == type }),
            let record = try reader.eventTypes([type], app: other.app).first
        else { throw Problem.svixNotFound("event type", type) }
        return record
    }

    /// A description in Svix's form, without fields that have no counterpart.
    private struct Given {
        enum Purpose { case post, put, patch }

        private static let fields = [
            "description", "schemas", "archived", "deprecated", "featureFlag", "featureFlags", "groupName",
        ]

        let purpose: Purpose
        private let document: JSONDocument

        init(_ given: JSONDocument, _ purpose: Purpose) throws(Problem) {
            document = given
            self.purpose = purpose
            var reader = FieldReader(given, fields: Self.fields + (purpose == .post ? ["name"] : []))
            if given["description"] == nil, purpose != .patch { reader.wrong("/description", "is required") }
            for name in ["archived", "deprecated"] {
                if let value = given.nonNull(name), reader.flag(value, "/" + name) {
                    reader.wrong("/" + name, "must be false: Herald has no counterpart")
                }
            }
            for name in ["featureFlag", "featureFlags", "groupName"] {
                if let value = given.nonNull(name), value.kind != .array || value.count > 0 {
                    reader.wrong("/" + name, "must be null: Herald has no counterpart")
                }
            }
            if let value = given.nonNull("schemas"), value.kind != .object {
                reader.wrong("/schemas", "must be an object of schemas by version")
            }
            try reader.check()
        }

        /// The schema with the highest version.
        private var newest: (key: String, value: JSONValue)? {
            document["schemas"]?.members.max { (Int($0.key) ?? 0) < (Int($1.key) ?? 0) }
                .map { (key: $0.key, value: $0.value) }
        }

        /// The problem with the pointers of Svix's fields, which have no example.
        func renamed(_ problem: Problem) -> Problem {
            let schema = newest.map { JSONPointer.child("/schemas", $0.key) } ?? "/schemas"
            return problem.svixRenamed(["/schema": schema]).changingFields { error in
                guard error.pointer == "/example" || error.pointer.hasPrefix("/example/") else { return error }
                return FieldError(
                    schema, "must accept the example of the event type: \(error.pointer) \(error.detail)")
            }
        }

        /// The description in Herald's form.
        /// - Parameter old: what a patch keeps. Otherwise only the check stays, which Svix does not have.
        func own(over old: EventTypeRecord?) throws(Problem) -> JSONDocument {
            let isPatch = purpose == .patch
            var schema = isPatch ? old?.schema : nil
            if document["schemas"] != nil { schema = newest?.value.bytes }
            let json = JSONWriter.document { object in
                if let text = document["description"], !(text.isNull && isPatch) {
                    object.member("description", text)
                } else if let old {
                    object.member("description", old.description)
                }
                if let schema { object.member("schema", .raw(schema)) }
                guard let old else { return }
                if isPatch, let example = old.example { object.member("example", .raw(example)) }
                object.member("check", schema == nil ? EventTypeRecord.Check.off.rawValue : old.check.rawValue)
                object.member("assert_formats", old.assertsFormats)
            }
            return try JSONDocument(reading: json, limits: EventTypeInput.limits)
        }
    }

    /// Changes a description, or with a PUT adds one.
    private func change(_ call: Call, _ purpose: Given.Purpose) throws(Problem) {
        let given = try Given(call.json(limits: EventTypeInput.limits), purpose)
        let type = call.parameters[0]
        try call.answer(from: hub) { reader in
            let record = try reader.eventTypes([type], app: call.app).first
            if record == nil, purpose == .patch { throw Problem.svixNotFound("event type", type) }
            try describe(call, given, of: type, over: record)
        }
    }

    /// - Parameter old: the description that is changed.
    private func describe(
        _ call: Call, _ given: Given, of type: String, over old: EventTypeRecord? = nil
    ) throws(Problem) {
        guard EventType.isValid(type), EventType.Family(of: type) != .service else {
            throw .invalid([FieldError("/name", "must be \(EventType.words), and not begin with \"herald.\"")])
        }
        let own = try given.own(over: old)
        let version: Int64? =
            switch given.purpose {
            case .post: 0
            case .put: nil
            case .patch: old?.version
            }
        try checks.pool.run(call) { (budget: inout WorkBudget) throws(Problem) -> EventTypeInput in
            do throws(Problem) {
                return try EventTypeInput.read(own, of: type, within: &budget)
            } catch {
                throw given.renamed(error)
            }
        } then: { input throws(Problem) in
            write(call, type, .set(input.description), ifVersion: version)
        }
    }

    /// - Parameter version: that of the description, 0 for none; `nil` for any.
    private func write(_ call: Call, _ type: String, _ action: EventTypeWrite.Action, ifVersion version: Int64? = nil) {
        call.begin(hub)?.submit(
            EventTypeWrite(
                app: call.app, type: type, ifVersion: version.map { [$0] }, action: action, provenance: call.provenance
            ) { result in
                call.send(result) { outcome in
                    switch outcome {
                    case .added(let record): .json(status: 201) { $0.svixMembers(of: record) }
                    case .replaced(let record): .json { $0.svixMembers(of: record) }
                    case .removed: Response(status: 204)
                    case .notFound: call.response(to: .svixNotFound("event type", type))
                    case .versionMismatch:
                        call.response(
                            to: Problem(
                                .conflict, status: 409,
                                detail: version == 0
                                    ? "The event type \(type) exists already."
                                    : "The event type \(type) was changed at the same time. Try again."))
                    case .tooMany:
                        call.response(
                            to: .tooMany("\(EventTypeWrite.maxTypes) event types have a description. Delete one first.")
                        )
                    }
                }
            })
    }
}

extension JSONObjectWriter {
    fileprivate mutating func svixMembers(of record: EventTypeRecord, showsSchema: Bool = true) {
        member("name", record.type)
        member("description", record.description)
        member("archived", false)
        member("deprecated", false)
        member("featureFlag", JSONNull())
        object("schemas", of: showsSchema ? record.schema : nil) { $1.member("1", .raw($0)) }
        member("createdAt", .timestamp(record.createdAt))
        member("updatedAt", .timestamp(record.updatedAt))
    }
}
