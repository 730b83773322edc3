package import HeraldModel
import HeraldRuntime

/// A change of the registry, with its completion.
package struct RegistryWrite: Sendable {
    package enum Action: Sendable {
        case register(Registration)
        /// Changes the state of a delegate. `ifVersion`: only these versions of the delegate. `now`: milliseconds since
        /// 1970 UTC.
        case update(
            id: String, ifVersion: Set<Int64>?,
            change: @Sendable (_ state: inout WebhookDelegate.State, _ now: Int64) throws(FieldErrors) -> Void)
        case remove(id: String, ifVersion: Set<Int64>?)
        case removeAll
    }

    /// The input for a new delegate.
    package struct Registration: Sendable {
        package internal(set) var settings: WebhookSettings
        package let secret: SigningSecret
        /// The client chose the secret, so a different one makes a different registration.
        package var isOwnSecret = false
        /// The webhook with the URL gets these settings, and the secret if the client chose it; of several with the URL, the one
        /// that it would repeat.
        package var replacesSettings = false
        /// It gets events after this position; `nil` for future events.
        package var start: LogPosition?
        /// The current app state, and the auth status of the subjects, are sent first.
        package var replaysCurrentState = false
        /// It is paused from the beginning, and gets what is published until it is resumed then.
        package var isPaused = false
        /// The `uid` of its settings, if no other webhook of the app may have it.
        package var uid: String?

        package init(settings: WebhookSettings, secret: SigningSecret) {
            self.settings = settings
            self.secret = secret
        }
    }

    package enum Outcome: Sendable {
        case registered(WebhookDelegate)
        /// A delegate with this URL and these settings exists.
        case existed(WebhookDelegate)
        /// This other delegate sends the same requests to the URL.
        case conflict(WebhookDelegate)
        case updated(WebhookDelegate)
        case removed([WebhookDelegate])
        /// The app has the maximum number of delegates.
        case tooMany(limit: Int)
        /// The URL has the maximum number of delegates.
        case tooManyOfURL(limit: Int)
        /// The app has the maximum number of pull delegates.
        case tooManyPulls(limit: Int)
        case notFound
        /// It has changed since `ifVersion`.
        case versionMismatch(WebhookDelegate)
        /// The result of the change would be invalid.
        case invalid([FieldError])
    }

    package let app: AppKey
    package internal(set) var action: Action
    /// For the audit log; `nil` for the process itself, or if it was logged before.
    package private(set) var provenance: Provenance?
    /// The delegates that earlier steps have removed.
    private var removed: [WebhookDelegate] = []
    /// The last one that there was when the first step removed some: later ones stay. `nil` before.
    private var lastKey: DelegateKey?
    package let idempotency: Idempotency<Outcome>?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, action: Action, provenance: Provenance? = nil, idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}

extension RegistryWrite: RequestCommand {
    package var endsTransaction: Bool { true }
    package var isStep: Bool {
        switch action {
        case .register, .update: false
        case .remove, .removeAll: true
        }
    }

    /// With normalized settings. A change is validated when it is made.
    package func checked(by rules: WebhookRules) -> Self? {
        var checked = self
        switch action {
        case .register(var registration):
            let problem = registration.secret.problem(for: registration.settings)
            var errors = rules.problems(of: &registration.settings)
            if let problem { errors.append(FieldError("/secret", problem)) }
            if !errors.isEmpty {
                completion(.done(.invalid(errors)))
                return nil
            }
            checked.action = .register(registration)
        case .update(let id, let version, let change):
            checked.action = .update(id: id, ifVersion: version) { state, now throws(FieldErrors) in
                try rules.apply(change, to: &state, now: now)
            }
        case .remove, .removeAll: break
        }
        return checked
    }

    package func growth(_ context: WriteContext) -> KeptMemory.Growth? {
        switch action {
        case .remove, .removeAll: return nil
        case .register, .update: break
        }
        let probe = Registry.NewDelegate(key: 0, start: 0, time: context.clock.wall()) { "" }
        guard case .set(let delegate)? = context.committed.registry.decide(self, probe).1 else { return nil }
        let old = context.committed.registry.delegate(key: delegate.key)?.keptBytes ?? 0
        return KeptMemory.Growth(app: app, bytes: delegate.keptBytes - old)
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let now = context.clock.wall()
        let new = Registry.NewDelegate(key: plan.nextDelegateKey, start: try transaction.head, time: now) {
            context.ids.next("dlg_", time: now)
        }
        let decision = context.committed.registry.decide(self, new)
        let (outcome, effect) = refusal(of: decision.0, context).map { ($0, nil) } ?? decision
        switch effect {
        case .set(let delegate):
            var state: [Event] = []
            if case .registered = outcome, case .register(let registration) = action, registration.replaysCurrentState {
                guard let found = try Self.currentState(for: delegate, context, transaction, plan) else {
                    return .invalid([Self.tooMuchState])
                }
                state = found
            }
            plan.effects.append(.set(delegate))
            try transaction.setDelegate(delegate)
            if case .registered = outcome { try transaction.write(Self.firstRow(of: delegate)) }
            for event in state { context.append(event, &plan) }
            try context.record(provenance, app, target: delegate.id, transaction)
        case .remove(let found):
            let last = lastKey ?? found.map(\.key).max() ?? 0
            let delegates = found.filter { $0.key <= last }
            var room = WriteContext.RemovalRoom()
            let gone = try context.remove(delegates, &room, transaction, &plan)
            plan.isPartial = gone.count < delegates.count
            plan.lastChanged = DeliveryKey(delegate: last, event: 0)
            try context.record(provenance, app, target: delegates.count == 1 ? delegates[0].id : nil, transaction)
            return .removed(removed + gone)
        default:
            // Another request has removed the rest.
            if case .removed = outcome { return .removed(removed) }
        }
        return outcome
    }

    package func next(after outcome: Outcome, _ last: DeliveryKey?) -> Self {
        guard case .removed(let removed) = outcome else { return self }
        var next = self
        next.removed = removed
        next.lastKey = last?.delegate
        // The first step is in the audit log, and has compared the version.
        next.provenance = nil
        if case .remove(let id, _) = action { next.action = .remove(id: id, ifVersion: nil) }
        return next
    }

    /// An app that was deleted in the meantime, or that has the maximum number of delegates, gets no new ones.
    private func refusal(of outcome: Outcome, _ context: WriteContext) -> Outcome? {
        guard case .register = action else { return nil }
        guard let found = context.committed.apps[app] else { return .notFound }
        guard case .registered = outcome, let limit = found.settings.maxDelegates,
            context.committed.registry.count(of: app) >= limit
        else { return nil }
        return .tooMany(limit: limit)
    }

    /// The maximum number of bytes of the current state, unless it is one event.
    static let maxStateBytes = Intake.batchBytes

    private static let tooMuchState = FieldError(
        "/replay_current_state",
        "would send more than \(maxStateBytes >> 20) MiB, or more than the app may store: name fewer subjects")

    /// The current app state, and the auth status of the delegate's subjects, as events addressed to the delegate.
    /// - Returns: `nil` if they are too large, for one transaction or for the app.
    private static func currentState(
        for delegate: WebhookDelegate, _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: WritePlan
    ) throws(StoreError) -> [Event]? {
        var events: [Event] = []
        var bytes = 0
        /// - Returns: whether there is room for it.
        func add(_ event: Event) -> Bool {
            events.append(event)
            bytes += event.storedBytes
            return (events.count == 1 || bytes <= maxStateBytes)
                && context.refusal(of: [], app: delegate.app, more: Int64(bytes), plan) == nil
        }
        let selection = delegate.selection
        func nextID() -> String { context.ids.next("evt_", time: context.clock.wall(), of: delegate.app) }
        if selection.includes(type: AppStateFamily.changed), selection.subjectSelection.contains(nil),
            let state = try transaction.appState(delegate.app)
        {
            if !add(AppStateFamily.current(state, id: nextID(), audience: delegate.key)) { return nil }
        }
        guard selection.includes(type: AuthFamily.statusChanged) else { return events }
        for subject in delegate.settings.subjects where SubjectSelection.prefix(subject) == nil {
            let userID = AuthFamily.userID(ofSubject: subject)
            guard let status = try transaction.authStatus(app: delegate.app, userID: userID) else { continue }
            let event = AuthFamily.current(status, subject: subject, id: nextID(), audience: delegate.key)
            if !add(event) { return nil }
        }
        return events
    }

    /// A lane has a row until its loop has written a checkpoint that includes it: an earlier common position must not
    /// apply to it.
    private static func firstRow(of delegate: WebhookDelegate) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.lanes = [LanePosition(delegate: delegate.key, cursor: delegate.start, position: delegate.start)]
        return checkpoint
    }
}
