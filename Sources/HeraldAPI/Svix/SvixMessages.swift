import HeraldCore
import HeraldHTTP
import HeraldJSON

/// Messages are events: the `eventId` is the id, and the payload is the data.
extension SvixEndpoints {
    var messageRoutes: [Route] {
        [
            appRoute(.post, "/msg", .publish, createMessage),
            appRoute(.get, "/msg", .read, listMessages),
            appRoute(.get, "/msg/{msg_id}", .read, showMessage),
            appRoute(.get, "/attempt/endpoint/{endpoint_id}", .read, listAttemptsOfEndpoint),
            appRoute(.get, "/attempt/msg/{msg_id}", .read, listAttemptsOfMessage),
            appRoute(.get, "/msg/{msg_id}/attempt/{attempt_id}", .read, showAttempt),
            appRoute(.get, "/msg/{msg_id}/endpoint", .read, listDestinations),
            appRoute(.get, "/endpoint/{endpoint_id}/msg", .read, listAttemptedMessages),
            appRoute(.post, "/endpoint/{endpoint_id}/send-example", .manage, sendExample),
            appRoute(.post, "/msg/{msg_id}/endpoint/{endpoint_id}/resend", .manage, resend),
        ]
    }

    // MARK: Messages

    private static let fields = [
        "eventType", "eventId", "payload", "channels", "payloadRetentionPeriod", "tags",
        "application",
    ]
    private static let names = ["/type": "/eventType", "/id": "/eventId", "/data": "/payload"]

    private func createMessage(_ call: Call) throws(Problem) {
        let showsPayload = try call.query("with_content").showsContent()
        let given = try call.json()
        var reader = FieldReader()
        reader.wrong(given.errors(unlessObjectOf: Self.fields))
        if given["payload"]?.kind != .object { reader.wrong("/payload", "is required: an object") }
        if let channels = given["channels"], !channels.isNull {
            reader.wrong("/channels", "must be null: Herald selects by subjects or by the filter of a delegate")
        }
        for (name, why) in [
            ("payloadRetentionPeriod", "the setting retention has the time for all events"),
            ("tags", "write them into the payload"), ("application", "create the application first"),
        ] {
            if let value = given[name], !value.isNull { reader.wrong("/" + name, "must be null: \(why)") }
        }
        try reader.check()
        let input: PostInput
        do throws(Problem) {
            input = try PostInput(Self.event(given).root, as: nil, EventInput.Context(call, hub, nil), checks)
        } catch {
            throw Self.renamed(error)
        }
        guard input.needsCheck else { return try publish(input, call, showsPayload) }
        try checks.pool.run(call) { [checks] budget throws(Problem) in
            try input.check(checks, within: &budget)
        } then: { [hub, checks] checked throws(Problem) in
            var input = input
            do throws(Problem) {
                try input.record(checked, checks)
            } catch {
                throw Self.renamed(error)
            }
            try publish(input, call, showsPayload)
            hub.flush()
        }
    }

    /// The message in Herald's form.
    private static func event(_ given: JSONDocument) throws(Problem) -> JSONDocument {
        var json = JSONWriter(capacity: given.root.bytes.count)
        json.object { object in
            for (own, name) in [("type", "eventType"), ("id", "eventId"), ("data", "payload")] {
                guard let value = given[name], !(value.isNull && name == "eventId") else { continue }
                object.member(own, RawJSON(value.bytes[...]))
            }
        }
        do throws(JSONError) {
            return try JSONDocument(parsing: json.bytes)
        } catch {
            throw .malformedJSON(error)
        }
    }

    private static func renamed(_ problem: Problem) -> Problem {
        var problem = problem
        problem.items = problem.items.map { item in
            guard case .pointer(let pointer) = item.place,
                let (own, name) = names.first(where: { pointer == $0.key || pointer.hasPrefix($0.key + "/") })
            else { return item }
            return Problem.Item(place: .pointer(name + pointer.dropFirst(own.count)), detail: item.detail)
        }
        return problem
    }

    private func publish(_ input: PostInput, _ call: Call, _ showsPayload: Bool) throws(Problem) {
        let answer: @Sendable ([PublishedEvent]) -> Response = { posted in
            guard let first = posted.first else { return Response(status: 202) }
            if first.disposition == .existed {
                return call.response(
                    to: Problem(
                        .alreadyPublished, status: 409,
                        detail: "A message with the eventId \(first.event.id) exists already."))
            }
            return .svix(status: 202) { $0.svixMembers(of: first.event, showsPayload) }
        }
        hub.enqueue(
            Publication(
                app: call.app, drafts: input.drafts, idempotency: try call.idempotency(answer)
            ) { call.send($0, answer) })
    }

    private func listMessages(_ call: Call) throws(Problem) {
        let query = try call.query(
            SvixPage.positions + ["channel", "before", "after", "with_content", "event_types", "tag"])
        try query.refuse("channel", "tag")
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
        let search = EventSearch(wanted)
        try call.answer(from: hub) { reader in
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
            let event = try DeliverySelection.event(id, call.app, reader).event
            if event.isDamaged { throw Problem.eventDamaged(id) }
            call.send { $0.svixMembers(of: event, showsPayload) }
        }
    }

    // MARK: Attempts

    private static let attemptParameters =
        SvixPage.positions + [
            "status", "status_code_class", "channel", "before", "after", "with_content", "with_msg", "event_types",
            "endpoint_id", "tag", "expanded_statuses",
        ]

    private func listAttemptsOfEndpoint(_ call: Call) throws(Problem) {
        let query = try call.query(Self.attemptParameters)
        try query.refuse("status_code_class", "channel", "tag", "event_types", "endpoint_id")
        let showsContent = try query.showsAttemptContent()
        let page = try SvixPage(query, isAscending: false)
        let delegate = try endpoint(call)
        var wanted = AttemptQuery(delegate: delegate.key)
        wanted.before = try page.number(.attempt, call)
        wanted.limit = page.limit
        wanted.succeeded = try query.svixSuccess()
        var search = AttemptSearch(wanted)
        search.since = try query.time("after")
        search.until = try query.time("before")
        try call.answer(from: hub) { [search] reader in
            let (found, next) = try search.page(reader)
            let events = try EventHeads(found.map(\.record.event), reader)
            call.send(found, next: next.map { call.sealed($0, .attempt) }) { attempt, json in
                json.svixMembers(
                    of: attempt, id: call.seal.id(of: attempt, app: call.app),
                    messageID: events[attempt.record.event]?.id ?? "", delegate, showsContent)
            }
        }
    }

    private func listAttemptsOfMessage(_ call: Call) throws(Problem) {
        let query = try call.query(Self.attemptParameters)
        try query.refuse("status_code_class", "channel", "tag", "event_types", "endpoint_id")
        let showsContent = try query.showsAttemptContent()
        let page = try SvixPage(query, isAscending: false)
        let success = try query.svixSuccess()
        let before = try page.number(.attempt, call) ?? .max
        let id = call.parameters[0]
        try call.answer(from: hub) { reader in
            let logged = try DeliverySelection.event(id, call.app, reader)
            let all = try reader.attempts(event: logged.sequence).reversed().filter {
                $0.id < before && (success == nil || $0.record.succeeded == success)
            }
            let shown = Array(all.prefix(page.limit))
            let next = all.count > page.limit ? shown.last.map { call.sealed($0.id, .attempt) } : nil
            call.send(shown, next: next) { attempt, json in
                json.svixMembers(
                    of: attempt, id: call.seal.id(of: attempt, app: call.app), messageID: id,
                    hub.committed.registry.delegate(key: attempt.record.delegate), showsContent)
            }
        }
    }

    private func showAttempt(_ call: Call) throws(Problem) {
        _ = try call.query("expanded_statuses").flag("expanded_statuses")
        let (id, attemptID) = (call.parameters[0], call.parameters[1])
        guard let number = call.seal.attempt(attemptID, app: call.app) else {
            throw .svixNotFound("attempt", attemptID)
        }
        try call.answer(from: hub) { reader in
            let logged = try DeliverySelection.event(id, call.app, reader)
            guard let attempt = try reader.attempts(event: logged.sequence).first(where: { $0.id == number }) else {
                throw Problem.svixNotFound("attempt", attemptID)
            }
            call.send {
                $0.svixMembers(
                    of: attempt, id: attemptID, messageID: id,
                    hub.committed.registry.delegate(key: attempt.record.delegate))
            }
        }
    }

    /// The endpoints of a message. A message has few, so that the list is one page.
    private func listDestinations(_ call: Call) throws(Problem) {
        let page = try SvixPage(call.query(SvixPage.positions), isAscending: true)
        try page.check { $0.isID("dlg_") }
        let id = call.parameters[0]
        try call.answer(from: hub) { reader in
            let logged = try DeliverySelection.event(id, call.app, reader)
            let stories = try DeliveryStory.all(of: logged, hub, reader).sorted { $0.delegateID < $1.delegateID }
            let known = stories.compactMap { story in
                hub.committed.registry.delegate(key: story.key).map { (story: story, delegate: $0) }
            }.filter { $0.delegate.settings.kind == .webhook }
            let (shown, isDone) = page.page(of: known) { $0.delegate.id }
            call.send(shown, isDone: isDone, id: { $0.delegate.id }) { one, json in
                json.svixMembers(of: one.delegate)
                json.svixStatus(of: one.story)
            }
        }
    }

    /// The messages of which an attempt to the endpoint has ended, by their last attempts, so that each is listed once.
    private func listAttemptedMessages(_ call: Call) throws(Problem) {
        let query = try call.query(
            SvixPage.positions + [
                "channel", "tag", "status", "before", "after", "with_content", "event_types", "expanded_statuses",
            ])
        try query.refuse("channel", "tag", "status", "before", "after", "event_types")
        _ = try query.flag("expanded_statuses")
        let showsPayload = try query.showsContent()
        let page = try SvixPage(query, isAscending: false)
        let delegate = try endpoint(call)
        var wanted = AttemptQuery(delegate: delegate.key)
        wanted.before = try page.number(.attempt, call)
        wanted.limit = page.limit
        let search = AttemptSearch(wanted)
        try call.answer(from: hub) { reader in
            let (found, next) = try search.page(reader)
            let events = try EventHeads(found.map(\.record.event), reader)
            var shown: [(event: Event, story: DeliveryStory)] = []
            for attempt in found {
                guard let event = events[attempt.record.event],
                    let story = try DeliveryStory.last(attempt, of: delegate, hub, reader)
                else { continue }
                shown.append((event, story))
            }
            call.send(shown, next: next.map { call.sealed($0, .attempt) }) { one, json in
                json.svixMembers(of: one.event, showsPayload)
                json.svixStatus(of: one.story)
            }
        }
    }

    private func resend(_ call: Call) throws(Problem) {
        _ = try call.query()
        let delegate = try endpoint(call, at: 1)
        let done: @Sendable (DeliveryWrite.Outcome) -> Response = { outcome in
            if let error = outcome.error { return call.response(to: Problem(error)) }
            return .svix(status: 202) { _ in }
        }
        hub.submit(
            DeliveryWrite(
                app: call.app, action: .redeliverEvent(id: call.parameters[0], delegateID: delegate.id),
                provenance: call.provenance, idempotency: try call.idempotency(done)
            ) { call.send($0, done) })
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
    /// Refuses conditions without a counterpart, so that no list seems to be filtered.
    func refuse(_ names: String...) throws(Problem) {
        for name in names where self[name] != nil {
            throw .invalidParameter(name, "has no counterpart in Herald")
        }
    }

    /// Attempts that are running are in no list: `expanded_statuses` has no effect.
    fileprivate func showsAttemptContent() throws(Problem) -> Bool {
        if try flag("with_msg") {
            throw .invalidParameter("with_msg", "must be false: get the message by its id")
        }
        _ = try flag("expanded_statuses")
        return try showsContent()
    }

    func showsContent() throws(Problem) -> Bool {
        self["with_content"] == nil ? true : try flag("with_content")
    }

    /// `event_types`, with commas.
    fileprivate func svixTypes() throws(Problem) -> [EventPattern] {
        guard let text = self["event_types"] else { return [] }
        var patterns: [EventPattern] = []
        for word in text.split(separator: ",") {
            guard let pattern = EventPattern(String(word)), patterns.count < 50 else {
                throw .invalidParameter("event_types", "must be at most 50 types, with commas")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    /// `status`: 0 is success, 2 is failure; others are no statuses of attempts that have ended.
    fileprivate func svixSuccess() throws(Problem) -> Bool? {
        switch self["status"] {
        case nil: return nil
        case "0": return true
        case "2": return false
        default: throw .invalidParameter("status", "must be 0 (success) or 2 (failure)")
        }
    }
}

extension Call {
    /// A page whose previous pages cannot be read again.
    fileprivate func send<Element>(
        _ shown: [Element], next: String?, _ write: (Element, inout JSONObjectWriter) -> Void
    ) {
        send { page in
            page.array("data") { list in
                for element in shown { list.object { write(element, &$0) } }
            }
            page.member("iterator", next)
            page.member("prevIterator", JSONNull())
            page.member("done", next == nil)
        }
    }
}

extension JSONObjectWriter {
    fileprivate mutating func svixStatus(of story: DeliveryStory) {
        let (status, text) =
            switch story.state {
            case .delivered: (0, "success")
            case .pending, .retrying: (1, "pending")
            case .exhausted, .dropped: (2, "fail")
            }
        member("status", status)
        member("statusText", text)
        member("nextAttempt", story.nextAttemptAt.map { Timestamp(milliseconds: $0) })
    }

    mutating func svixMembers(of event: Event, _ showsPayload: Bool) {
        member("id", event.id)
        member("eventId", event.id)
        member("eventType", event.type)
        member("channels", JSONNull())
        if showsPayload, event.data.first == UInt8(ascii: "{") {
            member("payload", .raw(event.data))
        } else {
            object("payload") { _ in }
        }
        member("timestamp", .timestamp(event.time))
    }

    fileprivate mutating func svixMembers(
        of attempt: StoredAttempt, id: String, messageID: String, _ delegate: WebhookDelegate?,
        _ showsContent: Bool = true
    ) {
        let record = attempt.record
        member("id", id)
        member("msgId", messageID)
        member("endpointId", delegate?.id ?? "")
        member("url", delegate?.settings.url ?? "")
        member("status", record.succeeded ? 0 : 2)
        member("statusText", record.succeeded ? "success" : "fail")
        member("responseStatusCode", record.status ?? 0)
        member("responseDurationMs", record.duration / 1000)
        member("response", showsContent ? String(decoding: record.excerpt, as: UTF8.self) : "")
        member("triggerType", record.isReplay ? 1 : 0)
        member("timestamp", .timestamp(record.startedAt))
    }
}
