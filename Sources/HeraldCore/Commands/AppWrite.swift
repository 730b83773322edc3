package import HeraldModel
import HeraldRuntime

/// A change of the apps, with its completion.
package struct AppWrite: Sendable {
    package enum Action: Sendable {
        /// - Parameter id: `app_` and a ULID.
        case add(id: String, App.Settings)
        case update(id: String, ifVersion: Set<Int64>?, change: @Sendable (inout App.Settings) -> Void)
        /// Ends its delegates and keys too. Its events stay until their retention ends, and can't be read.
        case remove(id: String, ifVersion: Set<Int64>?)
    }

    package enum Outcome: Sendable {
        case added(App)
        case updated(App)
        case removed(App)
        case notFound
        /// It has changed since `ifVersion`.
        case versionMismatch
        /// The name belongs to another app.
        case nameTaken(App)
        /// The maximum number of apps is reached.
        case tooMany
        /// `default` can't be deleted or renamed.
        case isDefault
        /// The result of the change would be invalid.
        case invalid([FieldError])
    }

    package static let maxApps = 1_000

    package let action: Action
    package let provenance: Provenance?
    package let idempotency: Idempotency<Outcome>?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        action: Action, provenance: Provenance? = nil, idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}

extension AppWrite: RequestCommand {
    package var endsTransaction: Bool { true }
    package var isStep: Bool {
        if case .remove = action { true } else { false }
    }
    /// The app of the idempotency keys: only operators create apps.
    package var app: AppKey { .default }

    package func checked(by rules: WebhookRules) -> Self? {
        guard case .add(_, let settings) = action, !settings.problems.isEmpty else { return self }
        completion(.done(.invalid(settings.problems)))
        return nil
    }

    package func growth(_ context: WriteContext) -> KeptMemory.Growth? {
        switch action {
        case .add(_, let settings):
            return KeptMemory.Growth(app: .default, bytes: App.default.keptBytes + settings.portal.keptBytes)
        case .update(let id, _, let change):
            guard let old = context.committed.apps.find(id) else { return nil }
            var settings = old.settings
            change(&settings)
            return KeptMemory.Growth(
                app: .default, bytes: settings.portal.keptBytes - old.settings.portal.keptBytes)
        case .remove: return nil
        }
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let outcome = try change(context, transaction, &plan)
        switch outcome {
        case .added(let app), .updated(let app), .removed(let app):
            try context.record(provenance, app.key, target: app.id, transaction)
        default: break
        }
        return outcome
    }

    package func next(after outcome: Outcome, _ last: DeliveryKey?) -> Self {
        guard case .remove(let id, _) = action else { return self }
        // The first step is in the audit log, and has compared the version.
        return AppWrite(action: .remove(id: id, ifVersion: nil), idempotency: idempotency, completion: completion)
    }

    private func change(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let now = context.clock.wall()
        let apps = context.committed.apps
        switch action {
        case .add(let id, let settings):
            guard apps.count < Self.maxApps else { return .tooMany }
            if let other = apps.find(settings.name) { return .nameTaken(other) }
            let app = App(
                key: apps.nextKey, id: id, settings: settings, createdAt: now, updatedAt: now, version: now)
            try plan.set(app, transaction)
            return .added(app)
        case .update(let id, let version, let change):
            guard let old = apps.find(id) else { return .notFound }
            if let version, !version.contains(old.version) { return .versionMismatch }
            var settings = old.settings
            change(&settings)
            if settings == old.settings { return .updated(old) }
            let problems = settings.problems
            if !problems.isEmpty { return .invalid(problems) }
            if settings.name != old.settings.name {
                if old.key == .default { return .isDefault }
                if let other = apps.find(settings.name) { return .nameTaken(other) }
            }
            let app = App(
                key: old.key, id: old.id, settings: settings, createdAt: old.createdAt, updatedAt: now,
                version: old.version + 1)
            try plan.set(app, transaction)
            return .updated(app)
        case .remove(let id, let version):
            guard let app = apps.find(id) else { return .notFound }
            if let version, !version.contains(app.version) { return .versionMismatch }
            if app.key == .default { return .isDefault }
            try Self.remove(app, context, transaction, &plan)
            return .removed(app)
        }
    }

    /// The number of event types that one step removes.
    private static let typesOfStep = 32
    /// The number of scheduled events, of auth statuses and of stored responses that one step removes.
    private static let valuesOfStep = 100

    /// With its delegates, keys, sessions and links. The first step ends the access to it, the last one removes the app, so
    /// that a removal that was interrupted can be repeated.
    private static func remove(
        _ app: App, _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        for entry in context.committed.keys.list(app.key) { try plan.remove(entry.key, transaction) }
        try plan.end(context.committed.sessions.sessions(of: app.key), transaction)
        // One more than a step removes.
        let delegates = context.committed.registry.list(app.key, limit: WriteContext.removedDelegates + 1)
        var room = WriteContext.RemovalRoom()
        let removed = try context.remove(delegates, &room, transaction, &plan)
        let types = context.committed.catalogue.list(app.key).prefix(Self.typesOfStep)
        for type in types {
            try transaction.removeEventType(type.type, app: app.key)
            plan.effects.append(.removeEventType(type.type, app.key))
        }
        let rows = max(
            try transaction.removePending(of: app.key, limit: Self.valuesOfStep),
            try transaction.removeSubmissions(about: nil, app: app.key, limit: Self.valuesOfStep),
            try transaction.removeRefused(about: nil, app: app.key, limit: Self.valuesOfStep),
            try transaction.removeValues(of: app.key, limit: Self.valuesOfStep))
        plan.isPartial =
            removed.count < delegates.count || types.count == Self.typesOfStep || rows == Self.valuesOfStep
        if plan.isPartial { return }
        if context.committed.pending.count(of: app.key).events > 0 {
            let none = PendingCount(app: app.key)
            try transaction.setPendingCount(none)
            plan.effects.append(.pending(none, earliest: .max))
        }
        try transaction.removeApp(app.key, at: context.clock.wall())
        plan.effects.append(.removeApp(app))
    }
}

extension WritePlan {
    fileprivate mutating func set(_ app: App, _ transaction: any StoreTransaction) throws(StoreError) {
        try transaction.setApp(app)
        effects.append(.setApp(app))
    }
}
