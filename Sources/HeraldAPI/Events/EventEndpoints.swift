import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Posting events and reading the log.
struct EventEndpoints: Sendable {
    let hub: Hub
    private let posting: PostEndpoint
    private let feed: FeedEndpoint
    private let scheduled: ScheduledEndpoints

    init(
        hub: Hub, checks: SchemaChecks, waits: ReceiverWaits, feed: FeedEndpoint,
        publish: @escaping @Sendable (Publication) -> Void
    ) {
        self.hub = hub
        self.feed = feed
        scheduled = ScheduledEndpoints(hub: hub)
        posting = PostEndpoint(hub: hub, checks: checks, waits: waits, publish: publish)
    }

    var routes: [Route] {
        [
            Route(.post, "/v1/events", needs: .publish, takesQuery: true, takesCloudEvents: true, posting.post),
            Route(.get, "/v1/events", needs: .read, takesQuery: true, list),
            Route(.get, "/v1/events/{id}", needs: .read, takesQuery: true, takesSlashes: true, show),
            Route(.patch, "/v1/events/{id}", needs: .publish, takesSlashes: true, scheduled.move),
            Route(.delete, "/v1/events/{id}", needs: .publish, takesSlashes: true, scheduled.cancel),
            Route(
                .get, "/v1/events/{id}/deliveries", needs: .read, takesQuery: true, takesSlashes: true, listDeliveries),
            Route(.post, "/v1/events/{id}/redeliver", needs: .manage, takesSlashes: true, redeliver),
        ]
    }

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query(
            "type", "subject", "id_prefix", "filter", "delivery", "since", "until", "limit", "cursor", "after", "wait",
            "state")
        if query["state"] != nil { return try scheduled.list(call, query) }
        var wanted = EventQuery()
        wanted.app = call.app
        wanted.types = try query.types()
        wanted.subject = query["subject"]
        wanted.since = try query.time("since")
        wanted.until = try query.time("until")
        if let after = query["after"] { return try feed.read(call, query, wanted, after: after) }
        if query["wait"] != nil { throw .invalidParameter("wait", "needs after: only new events can be waited for") }
        wanted.before = try call.cursor(query, .event)
        let limit = try query.limit()
        wanted.limit = limit + 1
        wanted.maxBytes = hub.maxListBytes
        var search = EventSearch(wanted)
        search.idPrefix = query["id_prefix"] ?? ""
        search.filter = try query.contentFilter()
        search.deliveries = try query.state(of: DeliverySelection.stored, in: "delivery")?.stored ?? []
        try call.answer(from: hub) { [search] reader in
            let (found, rest) = try search.page(hub.committed.usage, reader)
            let shown = Array(found.prefix(limit))
            let next = found.count > limit ? shown.last?.sequence : rest
            call.send(page: shown, query, next: next.map { call.sealed($0, .event) }) { logged, json in
                json.members(of: logged.event)
            }
        }
    }

    private func show(_ call: Call) throws(Problem) {
        let query = try call.query("source", "deliveries")
        let source = query["source"]
        let id = call.parameters[0]
        let isWhole = try query.value("deliveries", "must be all or none") { ["all": true, "none": false][$0] } ?? true
        try call.answer(from: hub) { reader in
            // An event that is published between the two reads is in the log by now.
            if source == nil, let pending = try ScheduledEndpoints.pending(id, call.app, reader) {
                return call.send(story: pending)
            }
            let logged = try Self.event(id, of: source, call.app, reader)
            if logged.event.isDamaged { throw Problem.eventDamaged(id) }
            let deliveries = isWhole ? try DeliveryStory.all(of: logged, hub, reader) : []
            let json = JSONWriter.document(capacity: 1024) { event in
                event.members(of: logged.event)
                event.array("deliveries", of: deliveries) { $1.members(of: $0, event: logged.event, call.seal) }
            }
            call.send(etaggedByContent: json)
        }
    }

    /// The deliveries of an event in pages, since an event may have very many.
    private func listDeliveries(_ call: Call) throws(Problem) {
        let query = try call.query("state", "limit", "cursor")
        let limit = try query.limit()
        let state = try query.state(of: DeliveryState.allCases)
        let last = try query["cursor"].map { text throws(Problem) in try storyPosition(text, in: state, call) }
        let id = call.parameters[0]
        try call.answer(from: hub) { reader in
            let logged = try DeliverySelection.intactEvent(id, call.app, reader)
            let all = try DeliveryStory.all(of: logged, hub, reader)
            let page = DeliveryStory.Page(all, state: state, after: last, limit: limit)
            let next = page.next.map { "\($0.rank).\(call.sealed($0.delegate, .delegate))" }
            let link = next.map { call.link(toNext: query.with("cursor", $0)) } ?? []
            call.send(link) { json in
                json.object("counts") { counts in
                    for state in DeliveryStory.Page.order { counts.member(state.rawValue, page.counts[state] ?? 0) }
                }
                json.array("data", of: page.stories) { $1.members(of: $0, event: logged.event, call.seal) }
                json.member("next_cursor", next)
            }
        }
    }

    /// The position of a cursor of this list. In a list of one state, all positions have the rank of the state.
    private func storyPosition(
        _ text: String, in state: DeliveryState?, _ call: Call
    ) throws(Problem) -> DeliveryStory.Page.Position {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let rank = Int(parts[0]),
            state.map({ DeliveryStory.Page.order.firstIndex(of: $0) == rank }) ?? true,
            let key = call.seal.number(parts[1], .delegate, of: call.app)
        else { throw .noCursor }
        return DeliveryStory.Page.Position(rank: rank, delegate: key)
    }

    /// - Parameter source: the source of a CloudEvent with this id, whose id in the log may differ.
    private static func event(
        _ id: String, of source: String?, _ app: AppKey, _ reader: any StoreReader
    ) throws -> LoggedEvent {
        guard let source else { return try DeliverySelection.event(id, app, reader) }
        if let found = try reader.event(app: app, id: id), found.event.attribute("source") == source { return found }
        guard let found = try reader.event(app: app, id: EventID.qualified(id, source: source)) else {
            throw Problem.notFound("There is no event with the id \(id) of the source \(source).")
        }
        return found
    }

    /// To all recipients, or to one delegate.
    private func redeliver(_ call: Call) throws(Problem) {
        let document = try call.optionalJSON()
        var reader = FieldReader(document, fields: ["delegate"])
        var delegateID: String?
        if let value = document.nonNull("delegate") {
            delegateID = value.string
            if delegateID == nil { reader.wrong("/delegate", "must be a delegate's id") }
        }
        try reader.check()
        let answer: @Sendable (DeliveryWrite.Outcome) -> Response = { outcome in
            call.response(to: outcome) { count in .json(status: 202) { $0.member("deliveries", count) } }
        }
        call.submit(
            .redeliverEvent(id: call.parameters[0], delegateID: delegateID), to: hub,
            idempotency: try call.idempotency(answer), answer)
    }
}

extension Call {
    /// Sends a resource whose version is its content.
    func send(etaggedByContent body: [UInt8]) { send(tag: Self.tag(of: body)) { body } }

    /// The `ETag` of what its bytes alone decide.
    static func tag(of bytes: [UInt8]) -> String {
        "\"" + SHA256.hash(bytes).prefix(9).map { String($0, radix: 36) }.joined() + "\""
    }
}

extension Query {
    /// `filter`: a condition on the content, in the grammar of a delegate's filter.
    fileprivate func contentFilter() throws(Problem) -> ContentFilter? {
        guard let text = self["filter"] else { return nil }
        do throws(HubError) {
            return try ContentFilter(json: text)
        } catch {
            guard case .invalid(let errors) = error else { throw Problem(error) }
            throw .validation(
                errors.map { error in
                    let place = error.pointer.isEmpty ? "" : error.pointer + " "
                    return Problem.Item(place: .parameter("filter"), detail: place + error.detail)
                })
        }
    }
}
