import Crypto
import HTTPServer
import Herald
import JSON

/// Registering, listing, changing and removing delegates.
struct DelegateEndpoints: Sendable {
    let hub: Hub
    let checkURL: DelegateInput.URLCheck

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates", register),
            Route(.get, "/v1/delegates", list),
            Route(.delete, "/v1/delegates", removeAll),
            Route(.get, "/v1/delegates/{id}", show),
            Route(.patch, "/v1/delegates/{id}", change),
            Route(.delete, "/v1/delegates/{id}", remove),
            Route(.post, "/v1/delegates/{id}/pause") { call throws(Problem) in try setStatus(.paused, call) },
            Route(.post, "/v1/delegates/{id}/resume") { call throws(Problem) in try setStatus(.active, call) },
            Route(.get, "/v1/delegates/{id}/attempts", attempts),
        ]
    }

    // MARK: Writing

    private func register(_ call: Call) throws(Problem) {
        _ = try call.query()
        let (settings, brought) = try DelegateInput.registration(call.json(), checkURL)
        let secret = if let brought { brought } else { try newSecret() }
        var registration = RegistryWrite.Registration(settings: settings, secret: secret)
        registration.isOwnSecret = brought != nil
        try change(call, .register(registration), showing: secret)
    }

    private func newSecret() throws(Problem) -> SigningSecret {
        do throws(CryptoError) {
            return SigningSecret(bytes: try SecretText.newSecret())
        } catch {
            throw .unavailable("no-randomness", "No secret could be made", error.description)
        }
    }

    private func change(_ call: Call) throws(Problem) {
        _ = try call.query()
        let patch = try DelegateInput.patch(call.json(), checkURL)
        try change(
            call,
            .update(id: call.parameters[0], ifVersion: version(call)) {
                state, _ throws(RegistryWrite.InvalidSettings) in
                try patch(&state.settings)
            })
    }

    private func setStatus(_ status: WebhookDelegate.Status, _ call: Call) throws(Problem) {
        _ = try call.query()
        if !call.request.body.isEmpty {
            let errors = try call.json().errors(unlessObjectOf: [])
            guard errors.isEmpty else { throw .invalid(errors) }
        }
        try change(call, .update(id: call.parameters[0], ifVersion: version(call)) { state, _ in state.status = status })
    }

    private func remove(_ call: Call) throws(Problem) {
        _ = try call.query()
        try change(call, .remove(id: call.parameters[0], ifVersion: version(call)))
    }

    private func removeAll(_ call: Call) throws(Problem) {
        guard try call.query("all").flag("all") else {
            throw .badRequest("Deleting all webhooks needs ?all=true, so that it can't happen by accident.")
        }
        try change(call, .removeAll)
    }

    private func change(
        _ call: Call, _ action: RegistryWrite.Action, showing secret: SigningSecret? = nil
    ) throws(Problem) {
        let answer: @Sendable (RegistryWrite.Outcome) -> Response = { self.answer(to: call, $0, secret) }
        let idempotency: Idempotency<RegistryWrite.Outcome>? =
            call.request.head.method == .post ? try call.idempotency { answer($0) } : nil
        hub.change(
            RegistryWrite(app: call.app, action: action, idempotency: idempotency) { result in
                call.send(result, answer)
            })
    }

    private func answer(to call: Call, _ outcome: RegistryWrite.Outcome, _ secret: SigningSecret?) -> Response {
        switch outcome {
        case .registered(let delegate):
            let text = secret.map { SecretText.print($0.bytes) }
            return resource(delegate, status: 201, secret: text, [.init("Location", "/v1/delegates/\(delegate.id)")])
        case .existed(let delegate), .updated(let delegate): return resource(delegate)
        case .conflict(let delegate): return Problem.conflict(delegate).response(requestID: call.requestID)
        case .notFound: return Self.notFound(call).response(requestID: call.requestID)
        case .versionMismatch: return Problem.preconditionFailed.response(requestID: call.requestID)
        case .invalid(let errors): return Problem.invalid(errors).response(requestID: call.requestID)
        case .removed(let delegates):
            guard call.parameters.isEmpty else { return Response(status: 204) }
            var json = JSONWriter()
            json.object { $0.member("deleted", delegates.count) }
            return Response(status: 200, headers: [.init("Content-Type", "application/json")], body: json.bytes)
        }
    }

    private func resource(
        _ delegate: WebhookDelegate, status: Int = 200, secret: String? = nil, _ headers: [Response.Field] = []
    ) -> Response {
        var json = JSONWriter(capacity: 768)
        json.object { $0.members(of: delegate, in: hub, secret: secret) }
        let fields = [
            Response.Field("Content-Type", "application/json"), .init("ETag", "\"\(delegate.version)\""),
        ]
        return Response(status: status, headers: fields + headers, body: json.bytes)
    }

    /// The version that `If-Match` names.
    private func version(_ call: Call) throws(Problem) -> Int64? {
        guard let tag = try call.ifMatch() else { return nil }
        guard let version = Int64(tag) else { throw .preconditionFailed }
        return version
    }

    private static func notFound(_ call: Call) -> Problem {
        .notFound("There is no webhook with the id \(call.parameters[0]).")
    }

    // MARK: Reading

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("kind", "status", "event", "limit", "cursor")
        let limit = try query.limit()
        let filter = try DelegateFilter(query)
        let before = query["cursor"]
        if let before, !before.hasPrefix("dlg_") || before.utf8.count != 30 {
            throw .invalidParameter("cursor", "must be a next_cursor of an earlier page")
        }
        // Not on the loop's thread, although nothing is read from the store: a filter may look at every delegate.
        try call.answer(from: hub) { _ in
            let entries = entries(call.app, filter, before: before, limit: limit + 1)
            call.send(page: entries, query, limit: limit, cursor: \.id) { entry, json in
                switch entry {
                case .webhook(let delegate): json.members(of: delegate, in: hub)
                case .inMemory(let delegate): json.members(of: delegate)
                }
            }
        }
    }

    /// Newest first.
    private func entries(_ app: AppKey, _ filter: DelegateFilter, before: String?, limit: Int) -> [Entry] {
        var entries: [Entry] = []
        if filter.kind != "in_memory" {
            let found = hub.registry.list(app, before: before, limit: limit) {
                filter.accepts($0, status: $0.shownStatus(hub.lane(of: $0.key)))
            }
            entries += found.map(Entry.webhook)
        }
        if filter.kind != "webhook" && filter.acceptsInMemory {
            let all = hub.inMemoryDelegates.map(Entry.inMemory)
            entries += all.filter { entry in before.map { entry.id < $0 } ?? true }
        }
        return Array(entries.sorted { $0.id > $1.id }.prefix(limit))
    }

    private enum Entry {
        case webhook(WebhookDelegate)
        case inMemory(InMemoryDelegate)

        var id: String {
            switch self {
            case .webhook(let delegate): delegate.id
            case .inMemory(let delegate): delegate.id
            }
        }
    }

    private func show(_ call: Call) throws(Problem) {
        _ = try call.query()
        let id = call.parameters[0]
        if let delegate = hub.registry.delegate(call.app, id: id) {
            return call.send(etag: String(delegate.version)) { $0.members(of: delegate, in: hub) }
        }
        guard let delegate = hub.inMemoryDelegates.first(where: { $0.id == id }) else {
            throw .notFound("There is no delegate with the id \(id).")
        }
        call.send { $0.members(of: delegate) }
    }

    private func attempts(_ call: Call) throws(Problem) {
        let query = try call.query("outcome", "event", "limit", "cursor")
        guard let delegate = hub.registry.delegate(call.app, id: call.parameters[0]) else { throw Self.notFound(call) }
        var wanted = AttemptQuery(delegate: delegate.key)
        wanted.before = try query.numericCursor()
        let limit = try query.limit()
        wanted.limit = limit + 1
        switch query["outcome"] {
        case nil: break
        case "succeeded": wanted.succeeded = true
        case "failed": wanted.succeeded = false
        default: throw .invalidParameter("outcome", "must be succeeded or failed")
        }
        let (attempts, eventID) = (wanted, query["event"])
        try call.answer(from: hub) { reader in
            var wanted = attempts
            if let eventID {
                guard let event = try reader.event(app: call.app, id: eventID) else {
                    throw Problem.notFound("There is no event with the id \(eventID).")
                }
                wanted.event = event.sequence
            }
            let found = try reader.attempts(wanted)
            let ids = try EventIDs(found, reader)
            call.send(page: found, query, limit: limit, cursor: { String($0.id) }) { attempt, json in
                json.members(of: attempt, eventID: ids[attempt.record.event])
            }
        }
    }
}

/// Which delegates a list shows.
private struct DelegateFilter {
    let kind: String?
    let status: String?
    let event: String?

    init(_ query: Query) throws(Problem) {
        kind = query["kind"]
        status = query["status"]
        event = query["event"]
        if let kind, !["webhook", "in_memory"].contains(kind) {
            throw .invalidParameter("kind", "must be webhook or in_memory")
        }
        if let status, !["active", "paused", "failing"].contains(status) {
            throw .invalidParameter("status", "must be active, paused or failing")
        }
        if let event, !EventType.isValid(event) {
            throw .invalidParameter("event", "must be an event type, such as auth.logged_in")
        }
    }

    func accepts(_ delegate: WebhookDelegate, status shown: String) -> Bool {
        if let status, status != shown { return false }
        guard let event else { return true }
        return delegate.settings.events.contains { $0.matches(event) }
    }

    var acceptsInMemory: Bool { status == nil || status == "active" }
}

/// The ids of the events that a page of attempts names by sequence.
private struct EventIDs {
    private var ids: [Sequence: String] = [:]

    init(_ attempts: [StoredAttempt], _ reader: any StoreReader) throws {
        for sequence in Set(attempts.map(\.record.event)) {
            let batch = try reader.events(after: sequence - 1, limit: 1, maxBytes: 1)
            if batch.first == sequence { ids[sequence] = batch.events.first?.id }
        }
    }

    subscript(sequence: Sequence) -> String? { ids[sequence] }
}
