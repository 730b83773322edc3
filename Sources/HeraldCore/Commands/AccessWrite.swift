package import HeraldModel
import HeraldRuntime

/// A change of access: keys, sessions and links, with its completion.
package struct AccessWrite: Sendable {
    package enum Action: Sendable {
        case addKey(APIKey)
        /// Creates another key with the same name, scopes and lifetime; the old one ends `overlap` milliseconds later.
        case rotateKey(id: String, replacement: NewKey, overlap: Int64)
        /// Ends a key at once.
        case revokeKey(id: String)
        /// Opens a session, or creates a link.
        case open(Session)
        /// Ends a session, by the SHA-256 of its text.
        case close([UInt8])
        /// An action that changes nothing in the store: for the audit log.
        case record(target: String)
        /// The time of the last use of keys, by their ids.
        case recordUse([String: Int64])
    }

    /// A key created outside of the writer, which never sees its text, only the digest.
    package struct NewKey: Sendable {
        package let id: String
        package let digest: [UInt8]

        package init(id: String, digest: [UInt8]) {
            self.id = id
            self.digest = digest
        }
    }

    package enum Outcome: Sendable {
        case added(APIKey)
        case revoked(APIKey)
        case noted
        case notFound
        /// The maximum number of links is reached, or the share of the app.
        case tooManyLinks
        /// The app has the maximum number of keys.
        case tooManyKeys
        /// Keys would be required, but there would be none with the scope `admin`.
        case lastAdminKey
    }

    /// Per app. Keys that ended more than `memory` ago are removed to make room.
    package static let maxKeys = 1_000
    /// Milliseconds that an expired key stays in the list: 30 days.
    static let memory: Int64 = 30 * 86_400_000

    /// Whether the text is the id of a stored key.
    static func isKeyID(_ word: String) -> Bool { word.hasPrefix("key_") }

    package let app: AppKey
    /// Whether an admin key outside of the store gives the operator access, whatever keys are revoked.
    package let hasOperatorKey: Bool
    package let action: Action
    package let provenance: Provenance?
    package let idempotency: Idempotency<Outcome>?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, hasOperatorKey: Bool = false, action: Action, provenance: Provenance? = nil,
        idempotency: Idempotency<Outcome>? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.hasOperatorKey = hasOperatorKey
        self.action = action
        self.provenance = provenance
        self.idempotency = idempotency
        self.completion = completion
    }
}

extension AccessWrite: RequestCommand {
    package var endsTransaction: Bool { true }
    /// The uses of many keys take several transactions.
    package var isStep: Bool {
        if case .recordUse = action { true } else { false }
    }

    package func checked(by rules: WebhookRules) -> Self? {
        guard case .addKey(let key) = action, !key.problems.isEmpty else { return self }
        refuse(.invalid(key.problems))
        return nil
    }

    package func growth(_ context: WriteContext) -> KeptMemory.Growth? {
        switch action {
        case .addKey(let key): KeptMemory.Growth(app: key.app, bytes: key.keptBytes)
        case .rotateKey(let id, _, _):
            context.committed.keys.entry(id: id).map { KeptMemory.Growth(app: app, bytes: $0.key.keptBytes) }
        case .open(let session) where session.kind == .link:
            KeptMemory.Growth(app: session.app, bytes: Session.keptBytes)
        // The operator's dashboard opens also when memory is full: the limit of sessions bounds them.
        case .open, .revokeKey, .close, .record, .recordUse: nil
        }
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        let now = context.clock.wall()
        let keys = context.committed.keys
        switch action {
        case .addKey(let key):
            guard context.committed.apps[key.app] != nil else { return .notFound }
            if !hasOperatorKey, keys.isEmpty, !key.scopes.contains(.admin) { return .lastAdminKey }
            guard try Self.makeRoom(for: key.app, keys, now, transaction, &plan) else { return .tooManyKeys }
            try plan.set(key, transaction)
            try context.record(provenance, key.app, target: key.id, transaction)
            return .added(key)
        case .rotateKey(let id, let replacement, let overlap):
            guard var old = keys.entry(id: id)?.key, old.app == app else { return .notFound }
            guard try Self.makeRoom(for: old.app, keys, now, transaction, &plan) else { return .tooManyKeys }
            let new = APIKey(
                app: old.app, id: replacement.id, name: old.name, scopes: old.scopes, digest: replacement.digest,
                createdAt: now, expiresAt: old.expiresAt.map { now + $0 - old.createdAt },
                requestsPerSecond: old.requestsPerSecond, delegate: old.delegate)
            old.expiresAt = min(old.expiresAt ?? .max, now + overlap)
            try plan.set(new, transaction)
            try plan.set(old, transaction)
            try context.record(provenance, new.app, target: new.id, transaction)
            return .added(new)
        case .revokeKey(let id):
            guard let key = keys.entry(id: id)?.key, key.app == app else { return .notFound }
            if !hasOperatorKey, key.scopes.contains(.admin), !Self.hasAdminKey(keys, besides: id, now) {
                return .lastAdminKey
            }
            try plan.remove(key, transaction)
            try plan.end(context.committed.sessions.sessions(ofKey: id), transaction)
            try context.record(provenance, key.app, target: key.id, transaction)
            return .revoked(key)
        case .open(let session):
            // The app or the key may have been deleted in the meantime.
            guard let app = context.committed.apps[session.app],
                !Self.isKeyID(session.key) || keys.entry(id: session.key) != nil
            else { return .notFound }
            // Expired sessions, and beyond the limit the session that ends first, of the app and the key that have most: an app or
            // a key cannot end the sessions of another one by opening many.
            guard
                let ended = context.committed.sessions.displaced(by: session, at: now, maxExpired: Self.maxForgotten)
            else { return .tooManyLinks }
            try plan.end(ended, transaction)
            try transaction.setSession(session)
            plan.effects.append(.setSession(session))
            try context.record(provenance, session.app, target: app.id, transaction)
        case .close(let digest):
            try transaction.removeSession(digest)
            plan.effects.append(.removeSession(digest))
        case .record(let target): try context.record(provenance, app, target: target, transaction)
        case .recordUse(let times):
            for (id, time) in times {
                guard var key = keys.entry(id: id)?.key else { continue }
                key.lastUsedAt = time
                try plan.set(key, transaction)
            }
        }
        return .noted
    }

    private static func hasAdminKey(_ keys: KeyRing, besides id: String, _ now: Int64) -> Bool {
        keys.all.contains { $0.key.id != id && $0.scopes.allow(.admin) && $0.key.isValid(at: now) }
    }

    /// Removes the app's keys that ended long ago.
    /// - Returns: whether it may have one more.
    private static func makeRoom(
        for app: AppKey, _ keys: KeyRing, _ now: Int64, _ transaction: any StoreTransaction,
        _ plan: inout WritePlan
    ) throws(StoreError) -> Bool {
        let all = keys.list(app).map(\.key)
        let ended = all.filter { $0.expiresAt.map { $0 < now - memory } ?? false }
        guard all.count - ended.count < maxKeys else { return false }
        for key in ended { try plan.remove(key, transaction) }
        return true
    }

    /// The maximum number of expired sessions, and of expired links, removed in one transaction.
    private static let maxForgotten = 100
}

extension WritePlan {
    fileprivate mutating func set(_ key: APIKey, _ transaction: any StoreTransaction) throws(StoreError) {
        try transaction.setKey(key)
        effects.append(.setKey(key))
    }

    mutating func remove(_ key: APIKey, _ transaction: any StoreTransaction) throws(StoreError) {
        try transaction.removeKey(key.id)
        effects.append(.removeKey(key))
    }

    mutating func end(_ sessions: [Session], _ transaction: any StoreTransaction) throws(StoreError) {
        for session in sessions {
            try transaction.removeSession(session.digest)
            effects.append(.removeSession(session.digest))
        }
    }
}
