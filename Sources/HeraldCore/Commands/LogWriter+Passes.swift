import HeraldRuntime

/// Sessions and links are opened and closed, inside a transaction.
extension LogWriter {
    /// Expired ones that one transaction forgets at most.
    private static let slice = 100

    func open(
        _ pass: Pass, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) -> AccessWrite.Outcome {
        let now = clock.wall()
        // The app or the key may have gone meanwhile.
        guard apps[pass.app] != nil, !AccessWrite.isKeyID(pass.key) || keys.entry(id: pass.key) != nil else {
            return .notFound
        }
        let all = passes.all
        let expired = all.filter { $0.expiresAt <= now }.prefix(Self.slice)
        let alike = all.filter { ($0.kind == .link) == (pass.kind == .link) && $0.expiresAt > now }
        var ended = Array(expired)
        if alike.count >= Pass.limit {
            guard pass.kind != .link else { return .tooManyLinks }
            if let first = alike.min(by: { $0.expiresAt < $1.expiresAt }) { ended.append(first) }
        }
        try end(ended, transaction, &plan)
        try transaction.setPass(pass)
        plan.effects.append(.setPass(pass))
        return .noted
    }

    func end(
        _ ended: [Pass], _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        for pass in ended {
            try transaction.removePass(pass.digest)
            plan.effects.append(.removePass(pass.digest))
        }
    }
}
