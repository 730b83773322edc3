extension MulticastDelegate {
    /// Calls an asynchronous closure with each member, in the order of registration: each call ends before the next one
    /// starts. A member that is removed or released before its turn is skipped.
    @inlinable
    public func invokeDelegatesInOrder(
        isolation: isolated (any Actor)? = #isolation, _ body: (Delegate) async -> Void
    ) async {
        for case let member? in membership.members {
            if let delegate = member.delegate(Delegate.self) { await body(delegate) }
        }
    }

    /// Calls an asynchronous closure that may throw with each member, in the order of registration. An error does not
    /// prevent further calls.
    ///
    /// - Throws: all errors, after the last call.
    @inlinable
    public func invokeDelegatesInOrder<Failure>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Delegate) async throws(Failure) -> Void
    ) async throws(MulticastError<Failure>) {
        var entries: [MulticastError<Failure>.Entry] = []
        for case let member? in membership.members {
            guard let delegate = member.delegate(Delegate.self) else { continue }
            do throws(Failure) {
                try await body(delegate)
            } catch {
                entries.append(.init(delegate: ObjectIdentifier(Member.object(of: delegate)), error: error))
            }
        }
        try MulticastError.check(entries)
    }
}

extension MulticastDelegate where Delegate: Sendable {
    /// Calls an asynchronous closure with all members concurrently, each in its own task. Returns when all calls have
    /// ended.
    @inlinable
    public func invokeDelegatesConcurrently(_ body: @escaping @Sendable (Delegate) async -> Void) async {
        await withDiscardingTaskGroup { group in
            for case let member? in membership.members {
                group.addTask { if let delegate = member.delegate(Delegate.self) { await body(delegate) } }
            }
        }
    }

    /// Calls an asynchronous closure that may throw with all members concurrently, each in its own task. An error does
    /// not cancel the others.
    ///
    /// - Throws: all errors, when all calls have ended.
    @inlinable
    public func invokeDelegatesConcurrently<Failure>(
        _ body: @escaping @Sendable (Delegate) async throws(Failure) -> Void
    ) async throws(MulticastError<Failure>) {
        let members = membership.members
        typealias Numbered = (number: Int, entry: MulticastError<Failure>.Entry)
        let failed = await withTaskGroup(of: Numbered?.self, returning: [Numbered].self) { group in
            for case (let number, let member?) in members.enumerated() {
                group.addTask {
                    guard let delegate = member.delegate(Delegate.self) else { return nil }
                    do throws(Failure) {
                        try await body(delegate)
                        return nil
                    } catch {
                        let identity = ObjectIdentifier(Member.object(of: delegate))
                        return (number, .init(delegate: identity, error: error))
                    }
                }
            }
            return await group.reduce(into: []) { if let entry = $1 { $0.append(entry) } }
        }
        try MulticastError.check(failed.sorted { $0.number < $1.number }.map(\.entry))
    }
}
