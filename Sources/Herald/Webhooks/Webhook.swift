public import FoundationEssentials
public import HeraldCore
public import HeraldDelivery
public import HeraldModel

/// A registered webhook, as it was at one moment: the result of the methods of ``Webhooks``.
public struct Webhook: Identifiable, Sendable {
    /// The events that are still to be sent.
    public struct Lag: Equatable, Sendable {
        /// How many match.
        public let events: Int64
        /// Not all of them were read; the number is extrapolated.
        public let isEstimate: Bool
        /// Requests that are open.
        public let inFlight: Int
        /// Deliveries that wait for another attempt.
        public let retrying: Int
    }

    /// `dlg_` and a ULID.
    public let id: String
    /// Whether events are sent to it.
    public let status: WebhookStatus
    /// Why it is not active; `nil` if it is.
    public let statusReason: String?
    /// The settings: URL, selection, format and delivery.
    public let settings: WebhookSettings
    /// The number of changes, for ``Webhooks/update(_:ifVersion:_:)``.
    public let version: Int64
    /// How its callbacks are signed.
    public let signature: SigningSecret.Scheme
    /// The public key that verifies `v1a` callbacks, `whpk_…`; `nil` for `v1`.
    public let publicKey: String?
    /// The key that signs, which its receiver needs. Only in the result of ``Webhooks/add(_:secret:signature:start:replaysCurrentState:)``
    /// or ``Webhooks/set(_:id:secret:start:)`` that has registered it, and of ``Webhooks/rotateSecret(of:to:signature:overlap:)``.
    public let secret: SigningSecret?
    /// Until when the previous key also signs, after a rotation.
    public let previousSecretEndDate: Date?
    /// The events that are still to be sent.
    public let lag: Lag
    /// The current limits of its deliveries.
    public let flow: FlowStatus
    /// Since when it has been failing without a break.
    public let failingSince: Date?
    /// When its lease ends; `nil` without a lease.
    public let leaseEndDate: Date?
    /// When it was registered.
    public let registrationDate: Date
    /// When it was changed.
    public let changeDate: Date

    /// - Parameters:
    ///   - backlog: `nil` for an estimate without reading the events.
    ///   - showsSecret: whether the caller may get the secret.
    init(_ delegate: WebhookDelegate, _ hub: Hub, _ backlog: Backlog? = nil, showsSecret: Bool = false) {
        let lane = hub.lane(of: delegate)
        let state = delegate.state
        let newest = delegate.newestSecret
        id = delegate.id
        status = delegate.shownStatus(lane)
        statusReason = delegate.shownReason(lane)
        settings = delegate.settings
        version = delegate.version
        signature = newest?.scheme ?? .v1
        publicKey = newest?.publicKey
        secret = showsSecret ? newest : nil
        previousSecretEndDate = state.secrets.dropFirst().compactMap(\.expiresAt).max().map(Date.init(milliseconds:))
        lag = Lag(backlog ?? Backlog(unseen: lane, of: delegate.app, in: hub), lane)
        flow = lane?.flow ?? FlowStatus(concurrency: delegate.settings.maxInFlight)
        failingSince = state.failingSince.map(Date.init(milliseconds:))
        leaseEndDate = state.expiresAt.map(Date.init(milliseconds:))
        registrationDate = Date(milliseconds: delegate.createdAt)
        changeDate = Date(milliseconds: delegate.updatedAt)
    }
}

extension Webhook.Lag {
    init(_ backlog: Backlog, _ lane: LaneSnapshots.Entry?) {
        events = backlog.events
        isEstimate = backlog.isEstimate
        inFlight = lane?.inFlight ?? 0
        retrying = lane?.retrying ?? 0
    }
}

extension FlowStatus {
    /// When the next probe is due; `nil` if the circuit is not open, or a probe is in flight.
    public var nextProbeDate: Date? { nextProbeAt.map(Date.init(milliseconds:)) }
}

/// A part of a list.
public struct ListPage<Element: Sendable>: Sendable {
    /// The elements, in the order of the list.
    public let elements: [Element]
    /// Continues the list behind these elements; `nil` at its end.
    public let next: ListCursor?
}

/// Where a list continues: ``ListPage/next`` of a page, for the same list.
public struct ListCursor: Hashable, Sendable {
    enum Place: Hashable {
        case webhook(id: String)
        case attempt(Int64)
        case delivery(event: LogPosition, webhook: DelegateKey, state: DeliveryState?)
        case scheduled(dueAt: Int64, key: Int64)
    }

    let place: Place

    init(place: Place) { self.place = place }

    /// After a delivery.
    /// - Parameter state: that of the list: each state has its own order.
    init(_ delivery: DeliveryKey, in state: DeliveryState?) {
        place = .delivery(event: delivery.event, webhook: delivery.delegate, state: state)
    }

    /// The delivery behind which the list of a state continues.
    func delivery(in state: DeliveryState?) throws(HubError) -> DeliveryKey {
        guard case .delivery(let event, let webhook, let own) = place, own == state else { throw Self.wrong() }
        return DeliveryKey(delegate: webhook, event: event)
    }

    /// The limit of a page.
    static func check(_ limit: Int) throws(HubError) {
        guard (1...500).contains(limit) else {
            throw .invalid([FieldError("/limit", "must be an integer from 1 to 500")])
        }
    }

    static func wrong() -> HubError {
        .invalid([FieldError("/cursor", "must be the next of an earlier page of this list")])
    }
}

extension Webhook {
    /// A request that is sent nowhere.
    public struct Request: Sendable {
        /// `POST`, unless the recipe of the webhook says another one.
        public let method: String
        /// With the path and the query of the recipe.
        public let url: String
        /// Names in lower case, in the order in which they are sent. Secrets are `***`.
        public let headers: [(name: String, value: String)]
        /// The body.
        public let body: [UInt8]

        init(_ request: RequestPreview.Request) {
            method = request.method
            url = request.url
            headers = request.headers.map { ($0.key, $0.value) }
            body = request.body
        }
    }
}
