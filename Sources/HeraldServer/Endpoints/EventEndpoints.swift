import Crypto
import HTTPServer
import Herald
import JSON
import Runtime
import Synchronization

/// Posting events and reading the log.
struct EventEndpoints: Sendable {
    static let maxEventsPerPost = 1_000

    let hub: Hub
    /// Reused, since a fresh one allocates 20 KiB: a third of what accepting an event costs.
    private let parser = SharedParser()

    init(hub: Hub) { self.hub = hub }

    var routes: [Route] {
        [
            Route(.post, "/v1/events", takesCloudEvents: true, post),
            Route(.get, "/v1/events", list),
            Route(.get, "/v1/events/{id}", show),
        ]
    }

    // MARK: Posting

    private func post(_ call: Call) throws(Problem) {
        if call.request.head.query != nil { _ = try call.query() }
        let context = EventInput.Context(app: call.app, now: hub.clock.wall(), ids: hub.ids)
        let form = CloudEventInput.Form(call.request.head)
        let body = form == .binary ? try CloudEventInput.document(call.request) : call.request.body
        let (drafts, isArray) = try parser.parse(body) { posted throws(Problem) in
            guard let form else { return try Self.drafts(posted, context) }
            return try CloudEventInput.drafts(posted, form, context)
        }
        let idempotency: Idempotency<[PostedEvent]>? = try call.idempotency(of: body) {
            Self.answer($0, isArray: isArray)
        }
        // Made here and not on the writer's thread, whose time is everybody's.
        let accepted = call.completed(
            Self.answer(drafts.map { PostedEvent(event: $0.event, fate: .accepted) }, isArray: isArray))
        // A batch of CloudEvents may be empty.
        if drafts.isEmpty { return call.responder.send(accepted) }
        let responder = call.responder
        hub.publish(
            Publication(app: call.app, drafts: drafts, idempotency: idempotency) { result in
                if case .done(let posted) = result, posted.allSatisfy({ $0.fate == .accepted }) {
                    responder.send(accepted)
                } else {
                    call.send(result) { Self.answer($0, isArray: isArray) }
                }
            })
    }

    private static func drafts(
        _ posted: JSONValue, _ context: EventInput.Context
    ) throws(Problem) -> (drafts: [EventDraft], isArray: Bool) {
        var errors: [FieldError] = []
        guard posted.kind == .array else {
            guard let draft = EventInput.read(posted, context, &errors) else { throw .invalid(errors) }
            return ([draft], false)
        }
        guard (1...maxEventsPerPost).contains(posted.count) else {
            throw .invalid([FieldError("", "must be one event, or an array of 1 to \(maxEventsPerPost) events")])
        }
        var drafts: [EventDraft] = []
        drafts.reserveCapacity(posted.count)
        for (index, element) in posted.elements.enumerated() {
            if let draft = EventInput.read(element, at: "/\(index)", context, &errors) { drafts.append(draft) }
        }
        guard errors.isEmpty else { throw .invalid(errors) }
        return (drafts, true)
    }

    /// 202 once it is durable; 200 when all of it had been posted before.
    private static func answer(_ posted: [PostedEvent], isArray: Bool) -> Response {
        var json = JSONWriter(capacity: 160 * posted.count + 16)
        if isArray {
            json.object { answer in
                answer.array("data") { data in
                    for event in posted { data.object { $0.head(of: event.event) } }
                }
            }
        } else {
            json.object { answer in
                for event in posted { answer.head(of: event.event) }
            }
        }
        let status = posted.allSatisfy { $0.fate == .existed } ? 200 : 202
        return Response(status: status, headers: [.init("Content-Type", "application/json")], body: json.bytes)
    }

    // MARK: Reading

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("type", "subject", "since", "until", "limit", "cursor")
        var wanted = EventQuery()
        wanted.app = call.app
        if let type = query["type"] {
            guard let pattern = EventPattern(type) else {
                throw .invalidParameter("type", "must be a type such as auth.logged_in, a prefix such as auth.*, or *")
            }
            wanted.type = pattern
        }
        wanted.subject = query["subject"]
        wanted.since = try query.time("since")
        wanted.until = try query.time("until")
        wanted.before = try query.numericCursor()
        let limit = try query.limit()
        wanted.limit = limit + 1
        let events = wanted
        try call.answer(from: hub) { reader in
            let found = try reader.events(events)
            call.send(page: found, query, limit: limit, cursor: { String($0.sequence) }) { logged, json in
                json.members(of: logged.event)
            }
        }
    }

    private func show(_ call: Call) throws(Problem) {
        _ = try call.query()
        let id = call.parameters[0]
        try call.answer(from: hub) { reader in
            guard let logged = try reader.event(app: call.app, id: id) else {
                throw Problem.notFound("There is no event with the id \(id).")
            }
            let deliveries = try DeliveryStory.all(of: logged, hub, reader)
            var json = JSONWriter(capacity: 1024)
            json.object { event in
                event.members(of: logged.event)
                event.array("deliveries") { list in
                    for delivery in deliveries { list.object { $0.members(of: delivery) } }
                }
            }
            call.send(etaggedByContent: json.bytes)
        }
    }
}

/// One parser for all loops. The lock is held for the parsing of one body: about a microsecond for an event of 512 bytes.
private final class SharedParser: Sendable {
    /// A thousand events may hold more values than the parser takes by itself; the size of a body bounds them too.
    private let parser = Mutex(JSONParser(limits: JSONLimits(values: 200_000)))

    /// - Parameter read: must not keep the value, whose memory serves the next body.
    func parse<Result: Sendable>(
        _ body: [UInt8], _ read: (JSONValue) throws(Problem) -> Result
    ) throws(Problem) -> Result {
        try parser.withLock { parser throws(Problem) in
            let value: JSONValue
            do throws(JSONError) {
                value = try parser.parse(body)
            } catch {
                throw Problem.malformedJSON(error)
            }
            return try read(value)
        }
    }
}

extension Call {
    /// A resource whose version is its content.
    fileprivate func send(etaggedByContent body: [UInt8]) {
        let tag = "\"" + SHA256.hash(body).prefix(9).map { String($0, radix: 36) }.joined() + "\""
        if request.head.value(of: "If-None-Match") == tag {
            return send(Response(status: 304, headers: [.init("ETag", tag)]))
        }
        send([.init("ETag", tag)], body)
    }
}
