import HeraldRuntime

/// Sessions and links are opened and closed, inside a transaction.
extension LogWriter {
    /// Expired ones that one transaction forgets at most.
    private static let slice = 100

    func open(
        _ session: Session, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> AccessWrite.Outcome {
        let now = clock.wall()
        // The app or the key may have gone meanwhile.
        guard apps[session.app] != nil, !AccessWrite.isKeyID(session.key) || keys.entry(id: session.key) != nil else {
            return .notFound
        }
        let all = sessions.all
        let expired = all.filter { $0.expiresAt <= now }.prefix(Self.slice)
        let alike = all.filter { ($0.kind == .link) == (session.kind == .link) && $0.expiresAt > now }
        var ended = Array(expired)
        if alike.count >= Session.limit {
            guard session.kind != .link else { return .tooManyLinks }
            if let first = alike.min(by: { $0.expiresAt < $1.expiresAt }) { ended.append(first) }
        }
        try end(ended, transaction, &plan)
        try transaction.setSession(session)
        plan.effects.append(.setSession(session))
        return .noted
    }

    func end(
        _ ended: [Session], _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        for session in ended {
            try transaction.removeSession(session.digest)
            plan.effects.append(.removeSession(session.digest))
        }
    }
}
