import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Scheduled events: those that were posted with `deliver_at`, until then.
struct ScheduledEndpoints: Sendable {
    let hub: Hub

    // MARK: Reading

    /// The scheduled event with this id, unless the log has it.
    static func pending(_ id: String, _ app: AppKey, _ reader: any StoreReader) throws(StoreError) -> PendingEvent? {
        try reader.event(app: app, id: id) == nil ? try reader.pending(app: app, id: id) : nil
    }

    private static let parameters = ["state", "subject", "limit", "cursor"]

    func list(_ call: Call, _ query: Query) throws(Problem) {
        if query["state"] == "refused" { return try listRefused(call, query) }
        guard query["state"] == "scheduled" else {
            throw .invalidParameter("state", "must be scheduled or refused")
        }
        let others = query.names.filter { !Self.parameters.contains($0) }
        guard others.isEmpty else {
            throw .invalidParameters(others, "can't be combined with state")
        }
        let limit = try query.limit()
        var wanted = PendingQuery(app: call.app, limit: limit + 1, maxBytes: hub.maxListBytes)
        wanted.subject = query["subject"]
        wanted.after = try query["cursor"].map { text throws(Problem) in try position(text, call) }
        try call.answer(from: hub) { [wanted] reader in
            let found = try reader.pending(wanted)
            let shown = Array(found.prefix(limit))
            // The bytes of a page are limited, too.
            let isPart = found.count > limit || found.count < wanted.limit && !found.isEmpty && isFull(found)
            let next = isPart ? shown.last.map { "\($0.dueAt).\(call.sealed($0.key, .pendingEvent))" } : nil
            call.send(page: shown, query, next: next) { pending, json in json.members(of: pending) }
        }
    }

    /// Whether the bytes of a page have reached its limit.
    private func isFull(_ events: [PendingEvent]) -> Bool {
        events.reduce(0) { $0 + $1.event.storedBytes } >= hub.maxListBytes
    }

    private func position(_ text: String, _ call: Call) throws(Problem) -> PendingQuery.Position {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Int64(parts[0]),
            let key = call.seal.number(parts[1], .pendingEvent, of: call.app)
        else { throw .noCursor }
        return PendingQuery.Position(dueAt: time, key: key)
    }

    /// The events from SQL that were committed and are not valid, newest first.
    private func listRefused(_ call: Call, _ query: Query) throws(Problem) {
        let others = query.names.filter { !["state", "limit", "cursor"].contains($0) }
        guard others.isEmpty else {
            throw .invalidParameters(others, "can't be combined with state=refused")
        }
        let limit = try query.limit()
        let before = try call.cursor(query, .refusedEvent)
        try call.answer(from: hub) { reader in
            var found: [RefusedEvent] = []
            var (last, bytes) = (before ?? .max, 0)
            // One by one: each may be as large as a request.
            while found.count <= limit, bytes < hub.maxListBytes,
                let event = try reader.refused(call.app, before: last, limit: 1).first
            {
                found.append(event)
                last = event.submission.key
                bytes += event.submission.data.count
            }
            let shown = Array(found.prefix(limit))
            let isPart = found.count > limit || bytes >= hub.maxListBytes
            let next = isPart ? shown.last.map { call.sealed($0.submission.key, .refusedEvent) } : nil
            call.send(page: shown, query, next: next) { event, json in json.members(of: event) }
        }
    }

    // MARK: Changing

    func move(_ call: Call) throws(Problem) {
        let document = try call.json()
        var reader = FieldReader(document, fields: ["deliver_at"])
        var time: Int64?
        if let value = document["deliver_at"] {
            time = value.timestamp?.milliseconds
            if time == nil { reader.wrong("/deliver_at", "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z") }
        } else {
            reader.wrong("/deliver_at", "is required")
        }
        if let time, time - hub.clock.wall() > PublicationLimits.maxDelay {
            reader.wrong("/deliver_at", PublicationLimits.delayWords)
        }
        try reader.check()
        try change(call, .move(to: time ?? 0))
    }

    func cancel(_ call: Call) throws(Problem) {
        try change(call, .cancel)
    }

    private func change(_ call: Call, _ action: PendingWrite.Action) throws(Problem) {
        let id = call.parameters[0]
        call.begin(hub)?.submit(
            PendingWrite(app: call.app, id: id, action: action, provenance: call.provenance) { result in
                call.send(result) { outcome in
                    if let error = outcome.error { return call.response(to: Problem(error)) }
                    guard case .moved(let pending) = outcome else { return Response(status: 204) }
                    // The scope of publishing allows no reading, and another key may have posted the event.
                    let showsData = call.principal.scopes.allow(.read)
                    return .json { $0.members(of: pending, showsData: showsData) }
                }
            })
    }
}

extension Call {
    /// Sends a scheduled event as the story of an event, which has no deliveries yet.
    func send(story pending: PendingEvent) {
        send(
            etaggedByContent: JSONWriter.document(capacity: 512) { event in
                event.members(of: pending)
                event.array("deliveries") { _ in }
            })
    }
}

extension JSONObjectWriter {
    mutating func members(of pending: PendingEvent, showsData: Bool = true) {
        let event = pending.event
        members(of: event.isDamaged || !showsData ? event.withoutData : event)
        members(ofSchedule: pending.dueAt)
    }

    fileprivate mutating func members(of refused: RefusedEvent) {
        let submission = refused.submission
        member("id", submission.id)
        member("type", submission.type)
        member("subject", submission.subject)
        member("time", .timestamp(submission.time))
        object("attributes") { _ in }
        // It may not be valid.
        member("data", RawJSON(Array("null".utf8)[...]))
        member("raw_data", String(decoding: submission.data, as: UTF8.self))
        member("state", "refused")
        if let time = submission.deliverAt { member("deliver_at", .timestamp(time)) }
        member("reason", refused.reason)
        member("refused_at", .timestamp(refused.refusedAt))
    }

    /// The state and the time of an event that is not in the log yet.
    mutating func members(ofSchedule deliverAt: Int64) {
        member("state", "scheduled")
        member("deliver_at", .timestamp(deliverAt))
    }
}
