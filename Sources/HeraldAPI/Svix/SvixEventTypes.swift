import HeraldCore
import HeraldHTTP
import HeraldJSON

/// Event types are the descriptions of event types of the key's app; a schema is the latest of Svix's versions, and is not checked
/// unless its description says so.
extension SvixEndpoints {
    var eventTypeRoutes: [Route] {
        [
            route(.get, "/event-type", .read, listEventTypes),
            route(.post, "/event-type", .manage) { call throws(Problem) in
                _ = try call.query()
                let document = try call.json(limits: EventTypeInput.limits)
                try describe(call, document, of: document["name"]?.string ?? "", isNew: true)
            },
            route(.get, "/event-type/{event_type_name}", .read) { call throws(Problem) in
                _ = try call.query()
                let type = call.parameters[0]
                guard hub.committed.catalogue.summary(call.app, type) != nil else {
                    throw .svixNotFound("event type", type)
                }
                try call.answer(from: hub) { reader in
                    guard let record = try reader.eventTypes([type], app: call.app).first else {
                        throw Problem.svixNotFound("event type", type)
                    }
                    call.send { $0.svixMembers(of: record) }
                }
            },
            route(.put, "/event-type/{event_type_name}", .manage) { call throws(Problem) in
                _ = try call.query()
                try describe(call, call.json(limits: EventTypeInput.limits), of: call.parameters[0], isNew: false)
            },
            route(.delete, "/event-type/{event_type_name}", .manage) { call throws(Problem) in
                _ = try call.query("expunge").flag("expunge")
                write(call, call.parameters[0], .remove, isNew: false)
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
            let (shown, isDone) = page.page(of: hub.committed.catalogue.list(call.app), id: \.type)
            let records = try reader.eventTypes(shown.map(\.type), app: call.app)
            call.send(records, isDone: isDone, id: \.type) { $1.svixMembers(of: $0, showsSchema: showsSchema) }
        }
    }

    private static let fields = [
        "name", "description", "schemas", "archived", "deprecated", "featureFlag", "featureFlags", "groupName",
    ]

    private func describe(_ call: Call, _ given: JSONDocument, of type: String, isNew: Bool) throws(Problem) {
        var reader = FieldReader()
        reader.wrong(given.errors(unlessObjectOf: isNew ? Self.fields : Array(Self.fields.dropFirst())))
        if !EventType.isValid(type) || EventType.Family(of: type) == .service {
            reader.wrong("/name", "must be \(EventType.words), and not begin with \"herald.\"")
        }
        if given["description"] == nil { reader.wrong("/description", "is required") }
        for name in ["archived", "deprecated"] {
            if let value = given[name], !value.isNull, reader.flag(value, "/" + name) {
                reader.wrong("/" + name, "must be false: Herald has no counterpart")
            }
        }
        for name in ["featureFlag", "featureFlags", "groupName"] {
            if let value = given[name], !value.isNull, value.kind != .array || value.count > 0 {
                reader.wrong("/" + name, "must be null: Herald has no counterpart")
            }
        }
        var schema: JSONValue?
        if let value = given["schemas"], !value.isNull {
            if value.kind != .object { reader.wrong("/schemas", "must be an object of schemas by version") }
            schema = value.members.max { (Int($0.key) ?? 0) < (Int($1.key) ?? 0) }?.value
        }
        try reader.check()
        var json = JSONWriter()
        json.object { object in
            if let text = given["description"] { object.member("description", RawJSON(text.bytes[...])) }
            if let schema { object.member("schema", RawJSON(schema.bytes[...])) }
        }
        let own: JSONDocument
        do throws(JSONError) {
            own = try JSONDocument(parsing: json.bytes, limits: EventTypeInput.limits)
        } catch {
            throw .malformedJSON(error)
        }
        try checks.pool.run(call) { budget throws(Problem) in
            try EventTypeInput.read(own, of: type, within: &budget)
        } then: { input throws(Problem) in
            write(call, type, .set(input.description), isNew: isNew)
        }
    }

    private func write(_ call: Call, _ type: String, _ action: EventTypeWrite.Action, isNew: Bool) {
        hub.submit(
            EventTypeWrite(
                app: call.app, type: type, ifVersion: isNew ? [0] : nil, action: action, provenance: call.provenance
            ) { result in
                call.send(result) { outcome in
                    switch outcome {
                    case .added(let record): .svix(status: 201) { $0.svixMembers(of: record) }
                    case .replaced(let record): .svix { $0.svixMembers(of: record) }
                    case .removed: Response(status: 204)
                    case .notFound: call.response(to: .svixNotFound("event type", type))
                    case .versionMismatch:
                        call.response(
                            to: Problem(
                                .conflict, status: 409, detail: "The event type \(type) exists already."))
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
        if showsSchema, let schema = record.schema {
            object("schemas") { $0.member("1", RawJSON(schema[...])) }
        } else {
            member("schemas", JSONNull())
        }
        member("createdAt", .timestamp(record.createdAt))
        member("updatedAt", .timestamp(record.updatedAt))
    }
}
