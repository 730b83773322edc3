import HeraldRuntime

/// Apps are made, changed and removed, inside a transaction.
extension LogWriter {
    func change(
        _ write: AppWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        try once(write.idempotency, .default, transaction, &plan, write.completion) { plan throws(StoreError) in
            let outcome = try perform(write, transaction, &plan)
            switch outcome {
            case .added(let app), .updated(let app), .removed(let app):
                try note(write.provenance, app.key, target: app.id, transaction)
            default: break
            }
            return outcome
        }
    }

    private func perform(
        _ write: AppWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> AppWrite.Outcome {
        let now = clock.wall()
        switch write.action {
        case .add(let id, let settings):
            guard apps.count < AppWrite.maxApps else { return .tooMany }
            if let other = apps.find(settings.name) { return .nameTaken(other) }
            let app = App(
                key: apps.nextKey, id: id, settings: settings, createdAt: now, updatedAt: now, version: 1)
            try set(app, transaction, &plan)
            return .added(app)
        case .update(let id, let version, let change):
            guard let old = apps.find(id) else { return .notFound }
            if let version, version != old.version { return .versionMismatch }
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
            try set(app, transaction, &plan)
            return .updated(app)
        case .remove(let id, let version):
            guard let app = apps.find(id) else { return .notFound }
            if let version, version != app.version { return .versionMismatch }
            if app.key == .default { return .isDefault }
            try remove(app, now, transaction, &plan)
            return .removed(app)
        }
    }

    private func set(_ app: App, _ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        try transaction.setApp(app)
        plan.effects.append(.setApp(app))
    }

    /// With all that acts in its name.
    private func remove(
        _ app: App, _ now: Int64, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        for entry in keys.list(app.key) {
            try transaction.removeKey(entry.key.id)
            plan.effects.append(.removeKey(entry.key))
        }
        try end(sessions.all.filter { $0.app == app.key }, transaction, &plan)
        let delegates = registry.list(app.key)
        for delegate in delegates { try transaction.removeDelegate(delegate.key, at: now) }
        if !delegates.isEmpty { plan.effects.append(.remove(delegates)) }
        for type in catalogue.list(app.key) {
            try transaction.removeEventType(type.type, app: app.key)
            plan.effects.append(.removeEventType(type.type, app.key))
        }
        try transaction.removeApp(app.key, at: now)
        plan.effects.append(.removeApp(app))
    }
}
