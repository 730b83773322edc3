import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Attempts that have ended, and the messages of which there are some.
extension SvixEndpoints {
    var attemptRoutes: [Route] {
        [
            appRoute(.get, "/attempt/endpoint/{endpoint_id}", .read, takesQuery: true, listAttemptsOfEndpoint),
            appRoute(.get, "/attempt/msg/{msg_id}", .read, takesQuery: true, listAttemptsOfMessage),
            appRoute(.get, "/msg/{msg_id}/attempt/{attempt_id}", .read, takesQuery: true, showAttempt),
            appRoute(.get, "/msg/{msg_id}/endpoint", .read, takesQuery: true, listDestinations),
            appRoute(.get, "/endpoint/{endpoint_id}/msg", .read, takesQuery: true, listAttemptedMessages),
        ]
    }

    private func listAttemptsOfEndpoint(_ call: Call) throws(Problem) {
        let query = try call.query(SvixPage.positions + SvixConditions.namesOfAttempts)
        let conditions = try SvixConditions(query)
        let showsContent = try query.showsContent()
        let page = try SvixPage(query, isAscending: false)
        let delegate = try endpoint(call)
        var search = AttemptSearch(AttemptQuery(delegate: delegate.key))
        search.query.before = try page.number(.attempt, call)
        search.query.limit = page.limit
        search.query.succeeded = conditions.status.map { $0 == .success }
        search.since = conditions.since
        search.until = conditions.until
        try call.answer(from: hub) { [search] reader in
            let (found, next) = try search.part(reader, conditions) { attempt, event in
                conditions.match(attempt.record)
                    ? (element: (attempt: attempt, messageID: event?.id ?? ""), bytes: 0) : nil
            }
            call.send(found, next: next.map { call.sealed($0, .attempt) }) { one, json in
                json.svixMembers(
                    of: one.attempt, id: call.seal.id(of: one.attempt, app: call.app), messageID: one.messageID,
                    to: (delegate.id, delegate.settings.url), showsContent)
            }
        }
    }

    private func listAttemptsOfMessage(_ call: Call) throws(Problem) {
        let query = try call.query(SvixPage.positions + SvixConditions.namesOfAttempts + ["endpoint_id"])
        let conditions = try SvixConditions(query)
        let showsContent = try query.showsContent()
        let page = try SvixPage(query, isAscending: false)
        let before = try page.number(.attempt, call) ?? .max
        var delegate: DelegateKey?
        if let word = query["endpoint_id"] { delegate = try endpoint(word, call).key }
        let id = call.parameters[0]
        try call.answer(from: hub) { [delegate] reader in
            let logged = try DeliverySelection.event(id, call.app, reader)
            let all = conditions.match(logged.event) ? try reader.attempts(event: logged.sequence).reversed() : []
            let found = all.filter { attempt in
                attempt.id < before && conditions.match(attempt.record)
                    && (delegate.map { $0 == attempt.record.delegate } ?? true)
            }
            let shown = try found.prefix(page.limit).map { attempt in
                (attempt: attempt, endpoint: try receiver(of: attempt, reader))
            }
            let next = found.count > page.limit ? shown.last.map { call.sealed($0.attempt.id, .attempt) } : nil
            call.send(shown, next: next) { one, json in
                json.svixMembers(
                    of: one.attempt, id: call.seal.id(of: one.attempt, app: call.app), messageID: id, to: one.endpoint,
                    showsContent)
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
            let endpoint = try receiver(of: attempt, reader)
            call.send { $0.svixMembers(of: attempt, id: attemptID, messageID: id, to: endpoint) }
        }
    }

    /// The endpoint of an attempt; one that was deleted has no URL.
    private func receiver(of attempt: StoredAttempt, _ reader: any StoreReader) throws -> (id: String, url: String) {
        let key = attempt.record.delegate
        if let delegate = hub.committed.registry.delegate(key: key) { return (delegate.id, delegate.settings.url) }
        return (try reader.deletedDelegateID(key) ?? "", "")
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
        let query = try call.query(SvixPage.positions + SvixConditions.names)
        let conditions = try SvixConditions(query)
        let showsPayload = try query.showsContent()
        let page = try SvixPage(query, isAscending: false)
        let delegate = try endpoint(call)
        var search = AttemptSearch(AttemptQuery(delegate: delegate.key))
        search.query.before = try page.number(.attempt, call)
        search.query.limit = page.limit
        search.since = conditions.since
        try call.answer(from: hub) { [search] reader in
            let (found, next) = try search.part(reader, conditions, maxBytes: hub.maxListBytes) {
                attempt, head -> (element: (event: Event, story: DeliveryStory), bytes: Int)? in
                guard let head, head.time >= conditions.since ?? .min, head.time <= conditions.until ?? .max,
                    let story = try DeliveryStory.last(attempt, of: delegate, hub, reader),
                    conditions.status.map({ $0 == SvixStatus(story.state) }) ?? true
                else { return nil }
                let whole = showsPayload ? try EventHeads.event(attempt.record.event, reader) : nil
                let event = whole ?? head
                return (element: (event: event, story: story), bytes: event.body.count)
            }
            call.send(found, next: next.map { call.sealed($0, .attempt) }) { one, json in
                json.svixMembers(of: one.event, showsPayload)
                json.svixStatus(of: one.story)
            }
        }
    }
}

extension AttemptSearch {
    /// Attempts that one request examines for conditions that the store does not evaluate.
    private static var work: Int { 1_000 }

    /// A part of the attempts that meet the conditions, newest first. A reader's thread.
    /// - Parameters:
    ///   - maxBytes: the element that exceeds it is the last one.
    ///   - make: `nil` for an attempt that is not listed. The event has no data.
    /// - Returns: at most `query.limit` elements, and the attempt before which the list continues.
    fileprivate func part<Element>(
        _ reader: any StoreReader, _ conditions: SvixConditions, maxBytes: Int = .max,
        _ make: (StoredAttempt, Event?) throws -> (element: Element, bytes: Int)?
    ) throws -> (found: [Element], next: Int64?) {
        var search = self
        var found: [Element] = []
        var (examined, bytes) = (0, 0)
        while true {
            let (read, next) = try search.page(reader)
            let events = try EventHeads(read.map(\.record.event), reader)
            for (index, attempt) in read.enumerated() {
                let event = events[attempt.record.event]
                guard conditions.match(event), let made = try make(attempt, event) else { continue }
                found.append(made.element)
                bytes += made.bytes
                if found.count == query.limit || bytes > maxBytes {
                    return (found, index + 1 < read.count || next != nil ? attempt.id : nil)
                }
            }
            examined += read.count
            guard let next, examined < Self.work else { return (found, next) }
            search.query.before = next
        }
    }
}

extension JSONObjectWriter {
    fileprivate mutating func svixStatus(of story: DeliveryStory) {
        let status = SvixStatus(story.state)
        member("status", status.rawValue)
        member("statusText", "\(status)")
        member("nextAttempt", story.nextAttemptAt.map { Timestamp(milliseconds: $0) })
    }

    fileprivate mutating func svixMembers(
        of attempt: StoredAttempt, id: String, messageID: String, to endpoint: (id: String, url: String),
        _ showsContent: Bool = true
    ) {
        let record = attempt.record
        member("id", id)
        member("msgId", messageID)
        member("endpointId", endpoint.id)
        member("url", endpoint.url)
        member("status", record.succeeded ? 0 : 2)
        member("statusText", record.succeeded ? "success" : "fail")
        member("responseStatusCode", record.status ?? 0)
        member("responseDurationMs", record.duration / 1000)
        member("response", showsContent ? String(decoding: record.excerpt, as: UTF8.self) : "")
        member("triggerType", record.isReplay ? 1 : 0)
        member("timestamp", .timestamp(record.startedAt))
    }
}
