import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Pulling the events of a delegate of kind `pull`, and settling its leases.
struct PullEndpoints: Sendable {
    let hub: Hub
    let pulls: Pulls
    let waits: ReceiverWaits
    let access: AccessControl

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates/{id}/pull", needs: .consume, takesQuery: true, pull),
            Route(.post, "/v1/delegates/{id}/ack", needs: .consume, acknowledge),
            Route(.post, "/v1/delegates/{id}/extend", needs: .consume, extend),
            Route(.post, "/v1/delegates/{id}/seek", needs: .manage, seek),
            Route(.get, "/v1/delegates/{id}/leases", needs: .read, takesQuery: true, leases),
            Route(.delete, "/v1/delegates/{id}/leases/{lease}", needs: .manage, release),
        ]
    }

    // MARK: Pulling

    private func pull(_ call: Call) throws(Problem) {
        let query = try call.query("max", "wait", "ack_seconds", "ack")
        try call.noBody()
        let limit = try query.number("max", 1...PullLease.maxEvents) ?? 100
        let ackSeconds = try query.number("ack_seconds", WebhookField.ackSecondsRange)
        let seconds = try query.wait() ?? 0
        let delegate = try call.webhook(in: hub, for: .pull)
        // Before anything is settled, so that a refused request has changed nothing.
        guard delegate.status == .active else { throw Problem(HubError.delegatePaused(id: delegate.id)) }
        let wait = seconds > 0 ? waits.begin(for: call.app) : nil
        let lease = query["ack"]
        // Too many wait: what is there is handed out, and only a request that would have to wait is refused.
        let isCrowded = seconds > 0 && wait == nil
        let silence = hub.limitsReads ? call.deadline(milliseconds: ReadDeadlines.read + 1_000 * seconds) : nil
        pulls.pull(
            .init(
                app: call.app, delegateID: delegate.id, limit: limit, ackSeconds: ackSeconds,
                seconds: isCrowded ? 0 : seconds,
                acknowledges: lease,
                isAwaited: { body in
                    // One whose key was revoked gets no events: a lease would hold them back.
                    call.responder.isAwaited { body($0 && access.isValid(call.principal)) }
                },
                // Not by its connection: a client that has closed its side of it may still read the response.
                isAbandoned: { call.responder.hasResponse }
            ) { result in
                defer { withExtendedLifetime((wait, silence)) {} }
                // The key may have been revoked since the request.
                guard access.isValid(call.principal) else {
                    return release(try? result.get().lease, delegate, call) {
                        withExtendedLifetime(silence) { call.send(.unauthorized) }
                    }
                }
                switch result {
                // With `ack`, the response says that the lease has ended.
                case .success(let run) where isCrowded && run.lease == nil && lease == nil && !run.hasMore:
                    call.send(.tooManyWaits)
                case .success(let run): send(run, delegate, call)
                case .failure(.busy): call.send(.tooManyPulls)
                case .failure(.hub(let error)): call.send(Problem(error))
                }
            })
    }

    /// Releases the lease of a pull whose response has no events.
    /// - Parameter then: called afterwards, also if the release failed.
    private func release(
        _ lease: PullLease?, _ delegate: WebhookDelegate, _ call: Call, then: @escaping @Sendable () -> Void = {}
    ) {
        guard let lease else { return then() }
        pulls.release(lease, of: delegate.id, app: call.app, then: then)
    }

    private func send(_ run: Pulls.Run, _ delegate: WebhookDelegate, _ call: Call) {
        let json = JSONWriter.document(capacity: 256 * (run.events.count + 1)) {
            $0.member("lease", run.lease?.id)
            $0.member("expires_at", run.lease.map { Timestamp(milliseconds: $0.expiresAt) })
            // For clients with another time.
            $0.member("ack_seconds", run.lease.map { ($0.expiresAt - $0.createdAt) / 1_000 })
            $0.array("events", of: run.events) { pulled, entry in
                entry.members(of: pulled.event.event)
                entry.member("attempt", pulled.attempt)
            }
            $0.member("more", run.hasMore)
            $0.member("ordering", (run.ordering ?? delegate.settings.ordering).rawValue)
        }
        let response = Response(status: 200, headers: [.init("Content-Type", "application/json")], body: json)
        // A deadline may have sent a response.
        if !call.responder.sendFirst(call.completed(response)) { release(run.lease, delegate, call) }
    }

    // MARK: Settling

    private func acknowledge(_ call: Call) throws(Problem) {
        let input = try AcknowledgementInput(call.json())
        let delegate = try call.webhook(in: hub, for: .pull)
        submit(call, delegate, input.action) { outcome in
            guard case .settled(let settled) = outcome else { return }
            call.send {
                $0.member("acked", settled.acknowledged)
                $0.member("retrying", settled.retrying)
                $0.member("exhausted", settled.exhausted)
                $0.member("returned", settled.returned)
            }
        }
    }

    /// - Parameter done: called with a success.
    private func submit(
        _ call: Call, _ delegate: WebhookDelegate, _ action: PullWrite.Action, provenance: Provenance? = nil,
        _ done: @escaping @Sendable (PullWrite.Outcome) -> Void
    ) {
        let write = PullWrite(app: call.app, delegateID: delegate.id, action: action, provenance: provenance) {
            result in
            guard case .done(let outcome) = result else { return call.send(result) { _ in Response(status: 204) } }
            if let error = outcome.error { return call.send(Problem(error)) }
            done(outcome)
        }
        hub.submit(write)
    }

    private func extend(_ call: Call) throws(Problem) {
        var reader = try FieldReader(call.json(), fields: ["lease", "ack_seconds"])
        let lease = reader.lease()
        let range = WebhookField.ackSecondsRange
        let given = reader.member("ack_seconds") {
            $0.integer($1, $2, Int64(range.lowerBound)...Int64(range.upperBound))
        }
        try reader.check()
        let delegate = try call.webhook(in: hub, for: .pull)
        submit(call, delegate, .extend(lease: lease, seconds: given ?? delegate.settings.ackSeconds)) { outcome in
            guard case .extended(let lease) = outcome else { return }
            call.send { $0.members(of: lease) }
        }
    }

    // MARK: Administration

    private func seek(_ call: Call) throws(Problem) {
        let words = "\"earliest\", \"now\", \(PositionInput.words)"
        var reader = try FieldReader(call.json(), fields: ["to"])
        let place = reader.member("to") { $0.place($1, $2, words: words) }
        if place == nil { reader.wrong("/to", "is required: \(words)") }
        try reader.check()
        let target = place ?? .now
        let delegate = try call.webhook(in: hub, for: .pull)
        let provenance = call.provenance
        try call.answer(from: hub) { reader in
            let position = try target.first(in: reader, app: call.app, head: hub.head, pointer: "/to") - 1
            let backlog = try BacklogCounter(hub, reader).count(delegate, movedTo: position)
            submit(call, delegate, .seek(to: position), provenance: provenance) { outcome in
                guard case .sought = outcome else { return }
                call.send { $0.members(of: backlog) }
            }
        }
    }

    /// The leases that have not ended, newest first.
    private func leases(_ call: Call) throws(Problem) {
        let delegate = try call.webhook(in: hub, for: .pull)
        // Checked here, so that it is not read for nothing.
        _ = try call.query("limit", "cursor")
        try call.answer(from: hub) { reader in
            let now = hub.clock.wall()
            let open = try reader.leases(of: delegate.key, endedBy: .max, limit: PullLease.maxCount)
                .filter { $0.expiresAt > now }.sorted { $0.id > $1.id }
            try call.send(newestFirst: open, ids: "ls_", id: \.id) { $1.members(of: $0) }
        }
    }

    private func release(_ call: Call) throws(Problem) {
        try call.noBody()
        let delegate = try call.webhook(in: hub, for: .pull)
        let lease = call.parameters[1]
        submit(call, delegate, .release(lease: lease), provenance: call.provenance) { _ in
            call.send(Response(status: 204))
        }
    }
}

extension JSONObjectWriter {
    fileprivate mutating func members(of lease: PullLease) {
        member("lease", lease.id)
        member("events", lease.entries.count)
        member("created_at", .timestamp(lease.createdAt))
        member("expires_at", .timestamp(lease.expiresAt))
    }
}

extension Problem {
    fileprivate static let tooManyPulls = unavailable(
        .busy, "Too many pulls wait for the store. Nothing was handed out; try again in a second.")
}
