import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Messages are events: the `eventId` is the id, and the payload is the data.
extension SvixEndpoints {
    var messageRoutes: [Route] {
        [
            route(.post, "/app/{app_id}/msg", .publish, takesQuery: true, createMessageAndApplication),
            appRoute(.get, "/msg", .read, takesQuery: true, listMessages),
            appRoute(.get, "/msg/{msg_id}", .read, takesQuery: true, showMessage),
            appRoute(.post, "/endpoint/{endpoint_id}/send-example", .manage, sendExample),
            appRoute(.post, "/msg/{msg_id}/endpoint/{endpoint_id}/resend", .manage, resend),
        ]
    }

    // MARK: Messages

    private static let fields = [
        "eventType", "eventId", "payload", "channels", "payloadRetentionPeriod", "tags", "application",
    ]
    private static let names = ["/type": "/eventType", "/id": "/eventId", "/data": "/payload"]
    /// The limits of published events.
    private static let limits = JSONLimits(values: PublicationLimits.maxValues)

    private func createMessage(_ call: Call) throws(Problem) {
        let trace = PublicationTrace(hub.tracer, call.request.head)
        let (input, showsPayload) = try message(call, trace)
        guard input.needsCheck else { return try publish(input, call, showsPayload, trace) }
        try checks.pool.run(call) { [checks] budget throws(Problem) in
            try input.check(checks, within: &budget)
        } then: { [hub, checks] checked throws(Problem) in
            var input = input
            do throws(Problem) {
                try input.record(checked, checks)
            } catch {
                throw error.svixRenamed(Self.names)
            }
            try publish(input, call, showsPayload, trace)
            hub.flush()
        }
    }

    /// Creates the application of the path too, if there is none and the message describes it.
    private func createMessageAndApplication(_ call: Call) throws(Problem) {
        let word = call.parameters[0]
        guard hub.committed.apps.find(word) == nil, call.principal.scopes.allow(.admin),
            let described = try call.json(limits: Self.limits)["application"], described.kind == .object
        else { return try createMessage(acting(call)) }
        let settings = try SvixApplicationInput(described, uid: word).settings
        // A message that is refused creates no application.
        _ = try message(call)
        _ = try call.idempotencyKey()
        call.begin(hub)?.submit(
            AppWrite(
                action: .add(id: hub.ids.next("app_", time: hub.clock.wall()), settings), provenance: call.provenance
            ) { result in
                switch result {
                case .done(.added), .done(.nameTaken):
                    call.attempt { () throws(Problem) in try createMessage(acting(call)) }
                    hub.flush()
                default: call.send(result) { self.answer(to: call, $0) }
                }
            })
    }

    /// - Throws: 422 with all invalid fields.
    private func message(
        _ call: Call, _ trace: PublicationTrace? = nil
    ) throws(Problem) -> (input: PostInput, showsPayload: Bool) {
        let showsPayload = try call.query("with_content").showsContent()
        let given = try call.json(limits: Self.limits)
        var reader = FieldReader(given, fields: Self.fields)
        if given["payload"]?.kind != .object { reader.wrong("/payload", "is required: an object") }
        let channels = given["channels"].flatMap { SvixChannels.read($0, SvixChannels.ofMessage, &reader) }
        for (name, why) in [
            ("payloadRetentionPeriod", "the setting retention has the time for all events"),
            ("tags", "write them into the payload"),
        ] {
            if given.nonNull(name) != nil { reader.wrong("/" + name, "must be null: \(why)") }
        }
        try reader.check()
        do throws(Problem) {
            var context = EventInput.Context(call, hub, trace)
            if let channels { context.attributes.append(EventChannels.pair(channels)) }
            return (try PostInput(Self.event(given).root, as: nil, context, checks), showsPayload)
        } catch {
            throw error.svixRenamed(Self.names)
        }
    }

    /// The message in Herald's form.
    private static func event(_ given: JSONDocument) throws(Problem) -> JSONDocument {
        let json = JSONWriter.document(capacity: given.root.bytes.count) { object in
            for (own, name) in [("type", "eventType"), ("id", "eventId"), ("data", "payload")] {
                guard let value = given[name], !(value.isNull && name == "eventId") else { continue }
                object.member(own, value)
            }
        }
        return try JSONDocument(reading: json, limits: limits)
    }

    private func publish(
        _ input: PostInput, _ call: Call, _ showsPayload: Bool, _ trace: PublicationTrace?
    ) throws(Problem) {
        let answer: @Sendable ([PublishedEvent]) -> Response = { posted in
            guard let first = posted.first else { return Response(status: 202) }
            if first.disposition == .existed {
                return call.response(
                    to: Problem(
                        .alreadyPublished, status: 409,
                        detail: "A message with the eventId \(first.event.id) exists already."))
            }
            return .json(status: 202) { $0.svixMembers(of: first.event, showsPayload) }
        }
        call.begin(hub)?.enqueue(
            Publication(
                app: call.app, drafts: input.drafts, idempotency: try call.idempotency(answer), span: trace?.span,
                caller: call.responder.loop
            ) { result in
                let response = call.response(to: result, answer)
                // A refused request has another span.
                if response.status < 400 { trace?.end(response.status, input.drafts, call) }
                call.send(response)
            })
    }

    private func listMessages(_ call: Call) throws(Problem) {
        let query = try call.query(
            SvixPage.positions + ["channel", "before", "after", "with_content", "event_types", "tag"])
        try query.refuse("tag")
        let page = try SvixPage(query, isAscending: false)
        let showsPayload = try query.showsContent()
        var wanted = EventQuery()
        wanted.app = call.app
        wanted.since = try query.time("after")
        wanted.until = try query.time("before")
        wanted.types = try query.svixTypes()
        wanted.limit = page.limit + 1
        wanted.maxBytes = hub.maxListBytes
        wanted.before = try page.number(.event, call)
        var search = EventSearch(wanted)
        search.filter = try query.svixChannel().flatMap { ContentFilter(text: SvixChannels.filter([$0])) }
        try call.answer(from: hub) { [search] reader in
            let (found, rest) = try search.page(hub.committed.usage, reader)
            let shown = Array(found.prefix(page.limit))
            let next = found.count > page.limit ? shown.last?.sequence : rest
            call.send(shown, next: next.map { call.sealed($0, .event) }) { $1.svixMembers(of: $0.event, showsPayload) }
        }
    }

    private func showMessage(_ call: Call) throws(Problem) {
        let showsPayload = try call.query("with_content").showsContent()
        let id = call.parameters[0]
        try call.answer(from: hub) { reader in
            let event = try DeliverySelection.intactEvent(id, call.app, reader).event
            call.send { $0.svixMembers(of: event, showsPayload) }
        }
    }

    private func resend(_ call: Call) throws(Problem) {
        let delegate = try endpoint(call, at: 1)
        let done: @Sendable (DeliveryWrite.Outcome) -> Response = { outcome in
            call.response(to: outcome) { _ in .json(status: 202) { _ in } }
        }
        call.submit(
            .redeliverEvent(id: call.parameters[0], delegateID: delegate.id), to: hub,
            idempotency: try call.idempotency(done), done)
    }
}

extension SvixPage {
    /// The number in the iterator of a list of what is stored: such lists have one direction.
    func number(_ kind: NumberSeal.Kind, _ call: Call) throws(Problem) -> Int64? {
        guard let after else { return nil }
        guard !isBackward, let number = call.seal.number(after, kind, of: call.app) else {
            throw Self.badIterator
        }
        return number
    }
}

extension Query {
    /// Refuses a condition without a counterpart, so that no list seems to be filtered.
    func refuse(_ name: String) throws(Problem) {
        if self[name] != nil { throw .invalidParameter(name, "has no counterpart in Herald") }
    }

    func showsContent() throws(Problem) -> Bool {
        self["with_content"] == nil ? true : try flag("with_content")
    }
}

extension Call {
    /// A page whose previous pages cannot be read again.
    func send<Element>(
        _ shown: [Element], next: String?, _ write: (Element, inout JSONObjectWriter) -> Void
    ) {
        send { page in
            page.array("data", of: shown, write)
            page.member("iterator", next)
            page.member("prevIterator", JSONNull())
            page.member("done", next == nil)
        }
    }
}

extension JSONObjectWriter {
    mutating func svixMembers(of event: Event, _ showsPayload: Bool) {
        member("id", event.id)
        member("eventId", event.id)
        member("eventType", event.type)
        let channels = event.channels
        member("channels", channels.isEmpty ? nil : channels)
        if showsPayload, event.data.first == UInt8(ascii: "{") {
            member("payload", .raw(event.data))
        } else {
            object("payload") { _ in }
        }
        member("timestamp", .timestamp(event.time))
    }
}
