import HeraldRuntime

/// Keys are made, replaced and revoked, inside a transaction.
extension LogWriter {
    func administer(
        _ write: AccessWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        try once(write.idempotency, write.app, transaction, &plan, write.completion) { plan throws(StoreError) in
            let outcome = try perform(write, transaction, &plan)
            switch outcome {
            case .added(let key), .revoked(let key): try note(write.provenance, key.app, target: key.id, transaction)
            case .noted:
                switch write.action {
                case .open(let pass): try note(write.provenance, pass.app, target: apps[pass.app]?.id, transaction)
                case .note(let target): try note(write.provenance, write.app, target: target, transaction)
                default: break
                }
            default: break
            }
            return outcome
        }
    }

    private func perform(
        _ write: AccessWrite, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> AccessWrite.Outcome {
        let now = clock.wall()
        switch write.action {
        case .addKey(let key):
            guard apps[key.app] != nil else { return .notFound }
            if !write.hasOperatorKey, keys.isEmpty, !key.scopes.contains(.admin) { return .lastAdminKey }
            guard try makeRoom(for: key.app, now, transaction, &plan) else { return .tooManyKeys }
            try set(key, transaction, &plan)
            return .added(key)
        case .rotateKey(let id, let replacement, let overlap):
            guard var old = keys.entry(id: id)?.key, old.app == write.app else { return .notFound }
            guard try makeRoom(for: old.app, now, transaction, &plan) else { return .tooManyKeys }
            let new = APIKey(
                app: old.app, id: replacement.id, name: old.name, scopes: old.scopes, digest: replacement.digest,
                createdAt: now, expiresAt: old.expiresAt.map { now + $0 - old.createdAt },
                requestsPerSecond: old.requestsPerSecond)
            old.expiresAt = min(old.expiresAt ?? .max, now + overlap)
            try set(new, transaction, &plan)
            try set(old, transaction, &plan)
            return .added(new)
        case .revokeKey(let id):
            guard let key = keys.entry(id: id)?.key, key.app == write.app else { return .notFound }
            if !write.hasOperatorKey, key.scopes.contains(.admin), !hasAdminKey(besides: id, now) {
                return .lastAdminKey
            }
            try remove(key, transaction, &plan)
            try end(sessions.all.filter { $0.key == id }, transaction, &plan)
            return .revoked(key)
        case .open(let session): return try open(session, transaction, &plan)
        case .close(let digest):
            try transaction.removeSession(digest)
            plan.effects.append(.removeSession(digest))
            return .noted
        case .note: return .noted
        case .noteUse(let times):
            for (id, time) in times {
                guard var key = keys.entry(id: id)?.key else { continue }
                key.lastUsedAt = time
                try set(key, transaction, &plan)
            }
            return .noted
        }
    }

    private func hasAdminKey(besides id: String, _ now: Int64) -> Bool {
        keys.all.contains { $0.key.id != id && $0.scopes.allow(.admin) && $0.key.isValid(at: now) }
    }

    /// Forgets the app's keys that ended long ago.
    /// - Returns: whether it may have one more.
    private func makeRoom(
        for app: AppKey, _ now: Int64, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> Bool {
        let all = keys.list(app).map(\.key)
        let ended = all.filter { $0.expiresAt.map { $0 < now - AccessWrite.memory } ?? false }
        guard all.count - ended.count < AccessWrite.maxKeys else { return false }
        for key in ended { try remove(key, transaction, &plan) }
        return true
    }

    private func set(_ key: APIKey, _ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        try transaction.setKey(key)
        plan.effects.append(.setKey(key))
    }

    private func remove(_ key: APIKey, _ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        try transaction.removeKey(key.id)
        plan.effects.append(.removeKey(key))
    }
}
