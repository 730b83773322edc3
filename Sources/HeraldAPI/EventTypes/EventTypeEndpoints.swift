import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// The catalogue of event types: descriptions and schemas.
struct EventTypeEndpoints: Sendable {
    let hub: Hub
    let pool: WorkPool

    var routes: [Route] {
        [
            Route(.get, "/v1/event-types", needs: .read, takesQuery: true, list),
            Route(.get, "/v1/event-types/{type}", needs: .read, show),
            Route(.put, "/v1/event-types/{type}", needs: .manage, describe),
            Route(.delete, "/v1/event-types/{type}", needs: .manage, remove),
        ]
    }

    // MARK: Reading

    /// By name.
    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("limit", "cursor")
        let limit = try query.limit()
        let cursor = query["cursor"]
        if let cursor, !EventType.isValid(cursor) {
            throw .noCursor
        }
        try call.answer(from: hub) { reader in
            let types = hub.committed.catalogue.list(call.app).filter { type in cursor.map { type.type > $0 } ?? true }
            let page = Self.page(types, limit: limit, maxBytes: hub.maxListBytes)
            let records = try reader.eventTypes(page.map(\.type), app: call.app)
            call.send(page: records, query, next: page.count < types.count ? page.last?.type : nil) {
                $1.members(of: $0)
            }
        }
    }

    /// The first types, at least one: together they have no more bytes than a list of events may have.
    private static func page(
        _ types: [EventTypeSummary], limit: Int, maxBytes: Int
    ) -> ArraySlice<EventTypeSummary> {
        var bytes = 0
        let fitting = types.prefix(limit).prefix { type in
            bytes += type.bytes
            return bytes <= maxBytes
        }
        return types.prefix(max(1, fitting.count))
    }

    private func show(_ call: Call) throws(Problem) {
        let type = call.parameters[0]
        guard hub.committed.catalogue.summary(call.app, type) != nil else { throw Self.notFound(type) }
        try call.answer(from: hub) { reader in
            guard let record = try reader.eventTypes([type], app: call.app).first else { throw Self.notFound(type) }
            call.send(etag: String(record.version)) { $0.members(of: record) }
        }
    }

    // MARK: Writing

    private func describe(_ call: Call) throws(Problem) {
        let type = call.parameters[0]
        guard EventType.isValid(type), EventType.Family(of: type) != .service else {
            throw .notFound("\(type) is not a type that can be published.")
        }
        let document = try call.json(limits: EventTypeInput.limits)
        try pool.run(call) { budget throws(Problem) in
            try EventTypeInput.read(document, of: type, within: &budget)
        } then: { input throws(Problem) in
            try write(call, type, .set(input.description), unchecked: input.unchecked)
        }
    }

    private func remove(_ call: Call) throws(Problem) {
        try write(call, call.parameters[0], .remove)
    }

    /// - Parameter unchecked: the parts of the schema that are not checked.
    private func write(
        _ call: Call, _ type: String, _ action: EventTypeWrite.Action, unchecked: [SchemaProblem] = []
    ) throws(Problem) {
        var write = EventTypeWrite(
            app: call.app, type: type, ifVersion: call.versions(), action: action, provenance: call.provenance
        ) { result in
            call.send(result) { answer(to: call, type, $0, unchecked) }
        }
        write.mustExist = call.request.head.list(of: "If-Match") == "*"
        call.begin(hub)?.submit(write)
    }

    private func answer(
        to call: Call, _ type: String, _ outcome: EventTypeWrite.Outcome, _ unchecked: [SchemaProblem]
    ) -> Response {
        switch outcome {
        case .added(let record):
            resource(record, unchecked, status: 201, [.init("Location", "/v1/event-types/\(type)")])
        case .replaced(let record): resource(record, unchecked, status: 200)
        case .removed: Response(status: 204)
        case .notFound: call.response(to: Self.notFound(type))
        case .versionMismatch: call.response(to: .preconditionFailed)
        case .tooMany:
            call.response(
                to: .tooMany("\(EventTypeWrite.maxTypes) event types have a description. Delete one that is not used."))
        }
    }

    private func resource(
        _ record: EventTypeRecord, _ unchecked: [SchemaProblem], status: Int, _ headers: [Response.Field] = []
    ) -> Response {
        .resource(version: record.version, status: status, headers) { json in
            json.members(of: record)
            json.array("unchecked", of: unchecked) { part, entry in
                entry.member("pointer", part.pointer)
                entry.member("detail", part.detail)
            }
        }
    }

    private static func notFound(_ type: String) -> Problem {
        .notFound("The event type \(type) has no description. Its events can still be published.")
    }
}

extension JSONObjectWriter {
    fileprivate mutating func members(of record: EventTypeRecord) {
        member("type", record.type)
        member("description", record.description)
        member("example", record.example.map { RawJSON($0[...]) })
        member("schema", record.schema.map { RawJSON($0[...]) })
        member("check", record.check.rawValue)
        member("assert_formats", record.assertsFormats)
        member("created_at", .timestamp(record.createdAt))
        member("updated_at", .timestamp(record.updatedAt))
    }
}
