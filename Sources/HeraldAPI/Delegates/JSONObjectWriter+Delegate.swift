import HeraldCore
import HeraldCrypto
import HeraldDelivery
import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    /// - Parameters:
    ///   - backlog: `nil` if it is unknown.
    ///   - secret: included only in the response to the registration.
    ///   - isNew: it is shown as it was registered, and not what its lane has done since: a repeated request has the same response.
    mutating func members(
        of delegate: WebhookDelegate, in hub: Hub, _ backlog: Backlog?, secret: String? = nil,
        isNew: Bool = false
    ) {
        let lane = isNew ? nil : hub.lane(of: delegate)
        let state = delegate.state
        member("id", delegate.id)
        member("kind", delegate.settings.kind.rawValue)
        member("status", delegate.shownStatus(lane).rawValue)
        member("status_reason", delegate.shownReason(lane))
        members(of: delegate.settings)
        let lag = backlog ?? Backlog(unseen: lane, of: delegate.app, in: hub)
        switch delegate.settings.kind {
        case .webhook:
            // A secret that cannot be read is replaced by one of the default kind.
            member("signature", (delegate.newestSecret?.scheme ?? .v1).rawValue)
            member("public_key", delegate.newestSecret?.publicKey)
            member("secret", ifPresent: secret)
            object("lag") { $0.lag(lag, lane) }
            object("flow") { $0.members(of: lane?.flow ?? FlowStatus(concurrency: delegate.settings.maxInFlight)) }
            member("failing_since", state.failingSince.map { Timestamp(milliseconds: $0) })
            member("expires_at", state.expiresAt.map { Timestamp(milliseconds: $0) })
        case .pull:
            object("lag") { $0.members(of: lag) }
        }
        member("created_at", .timestamp(delegate.createdAt))
        member("updated_at", .timestamp(delegate.updatedAt))
    }

    private mutating func members(of settings: WebhookSettings) {
        for field in WebhookField.all where settings.kind.hasField(field.name) && field.name != "kind" {
            switch field.kind {
            case .integer(let access, _): member(field.name, access.get(settings))
            case .optionalInteger(let access, _): member(field.name, access.get(settings))
            case .optionalNumber(let access, _): member(field.name, access.get(settings))
            case .text(let access, _): member(field.name, access.get(settings))
            case .choice(let choice): member(field.name, choice.get(settings))
            case .special(let special): write(special, of: settings)
            }
        }
    }

    private mutating func write(_ field: WebhookField.Special, of settings: WebhookSettings) {
        switch field {
        case .url: member("url", settings.url)
        case .events: member("events", settings.events.map(\.text))
        case .subjects: member("subjects", settings.subjects)
        case .filter: member("filter", settings.filter.map { RawJSON($0.text[...]) })
        case .metadata: object("metadata") { for pair in settings.metadata { $0.member(pair.key, pair.value) } }
        // Values may be secrets.
        case .headers: member("header_names", settings.headers.map(\.key))
        case .retrySchedule: member("retry_schedule", settings.retrySchedule)
        case .tls:
            object("tls", of: settings.tls.isEmpty ? nil : settings.tls) { $1.members(of: $0) }
        case .request:
            object("request", of: settings.request) { recipe, json in
                for (name, value) in recipe.shown { json.member(name, value) }
            }
        }
    }

    /// Without the private key.
    private mutating func members(of tls: TLSSettings) {
        member("ca", tls.authorities)
        member("pin", tls.pin)
        member("client_certificate", tls.clientCertificate)
    }

    mutating func members(of backlog: Backlog) {
        member("events", backlog.events)
        member("estimated", backlog.isEstimate)
    }

    /// The lag of a lane.
    mutating func lag(_ backlog: Backlog, _ lane: LaneSnapshots.Entry?) {
        members(of: backlog)
        member("in_flight", lane?.inFlight ?? 0)
        member("retrying", lane?.retrying ?? 0)
    }

    /// Writes the current limits of its deliveries.
    private mutating func members(of flow: FlowStatus) {
        member("limited_by", flow.limitedBy?.rawValue)
        member("circuit", flow.circuit.rawValue)
        member("next_probe_at", flow.nextProbeAt.map { Timestamp(milliseconds: $0) })
        member("concurrency", flow.concurrency)
        member("rate", flow.rate.map { ($0 * 100).rounded() / 100 })
        member("tolerated_rejections", (flow.toleratedRejections * 1000).rounded() / 1000)
        array("refused_types", of: flow.refusedTypes) { refused, entry in
            entry.member("type", refused.type)
            entry.member("since", .timestamp(refused.since))
            entry.member("failures", refused.failures)
            entry.member("reason", refused.reason)
        }
        member("blocked_subject", flow.blockedSubject)
    }

    mutating func members(of delegate: InMemoryDelegate) {
        member("id", delegate.id)
        member("kind", "in_memory")
        member("status", "active")
        member("status_reason", JSONNull())
        member("events", ["*"])
        member("description", delegate.description)
        member("created_at", .timestamp(delegate.createdAt))
    }
}
