import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Sends the example of an event type to one endpoint, as a test call: the message is not stored.
extension SvixEndpoints {
    func sendExample(_ call: Call) throws(Problem) {
        let given = try call.json()
        var reader = FieldReader(given, fields: ["eventType", "exampleIndex", "payload"])
        let type = given["eventType"].flatMap { reader.text($0, "/eventType") } ?? ""
        if !EventType.isValid(type) || EventType.Family(of: type) == .service {
            reader.wrong("/eventType", "must be \(EventType.words), and not begin with \"herald.\"")
        }
        let index = reader.member("exampleIndex") { $0.integer($1, $2, 0...1_000) } ?? 0
        let payload = given.nonNull("payload")
        if let payload, payload.kind != .object { reader.wrong("/payload", "must be an object") }
        try reader.check()
        let delegate = try endpoint(call)
        if delegate.status == .pendingVerification { throw Problem(.unverified(id: delegate.id)) }
        if let payload { return try send(payload.bytes, type, to: delegate, call) }
        // Svix has an example of this type without a description.
        if type == "svix.ping" { return try send(Array(#"{"success": true}"#.utf8), type, to: delegate, call) }
        try call.answer(from: hub) { reader in
            let record = try self.record(of: type, call, reader)
            try send(Self.example(of: record, at: index), type, to: delegate, call)
        }
    }

    /// The example of the description, or else one of the `examples` of its schema.
    private static func example(of record: EventTypeRecord, at index: Int) throws(Problem) -> [UInt8] {
        if let example = record.example { return example }
        let schema = record.schema.flatMap { try? JSONDocument(parsing: $0, limits: EventTypeInput.limits) }
        guard let examples = schema?["examples"], examples.kind == .array, examples.count > 0 else {
            throw .invalid([FieldError("/eventType", "has no example: describe it with one, or give a payload")])
        }
        guard index < examples.count else {
            throw .invalid([FieldError("/exampleIndex", "must be less than \(examples.count), the number of examples")])
        }
        return Array(examples.elements)[index].bytes
    }

    private func send(
        _ data: [UInt8], _ type: String, to delegate: WebhookDelegate, _ call: Call
    ) throws(Problem) {
        let now = hub.clock.wall()
        let event = Event(
            app: call.app, id: hub.ids.next("evt_", time: now), type: type, subject: nil, time: now, data: data)
        try call.test(delegate, event, hub, waits) { _ in
            .json(status: 202) { $0.svixMembers(of: event, true) }
        }
    }
}
