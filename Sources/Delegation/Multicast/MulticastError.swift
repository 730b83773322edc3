/// Some delegates threw. All were called.
public struct MulticastError<Failure: Error>: Error {
    /// A delegate that threw, and its error.
    public struct Entry: Sendable {
        /// The identity of the delegate.
        public let delegate: ObjectIdentifier
        /// The error.
        public let error: Failure

        @usableFromInline
        init(delegate: ObjectIdentifier, error: Failure) {
            self.delegate = delegate
            self.error = error
        }
    }

    /// In the order of registration; never empty.
    public let entries: [Entry]

    /// The errors, in the order of registration.
    public var errors: [Failure] { entries.map(\.error) }

    @usableFromInline
    init(_ entries: [Entry]) { self.entries = entries }

    /// Throws if there are errors.
    @inlinable
    static func check(_ entries: [Entry]) throws(MulticastError) {
        if !entries.isEmpty { throw MulticastError(entries) }
    }
}

extension MulticastError: CustomStringConvertible {
    public var description: String {
        let errors = errors.map { "\($0)" }.joined(separator: "; ")
        return "\(entries.count) of the delegates \(entries.count == 1 ? "has" : "have") failed: \(errors)"
    }
}

extension MulticastDelegate {
    /// Calls a closure that may throw with each member, in the order of registration, on the thread of the caller. An
    /// error does not prevent further calls.
    ///
    /// - Throws: all errors, after the last call.
    @inlinable
    public func invokeDelegates<Failure>(
        _ body: (Delegate) throws(Failure) -> Void
    ) throws(MulticastError<Failure>) {
        var entries: [MulticastError<Failure>.Entry] = []
        invokeDelegates { delegate in
            do throws(Failure) {
                try body(delegate)
            } catch {
                entries.append(.init(delegate: ObjectIdentifier(Member.object(of: delegate)), error: error))
            }
        }
        try MulticastError.check(entries)
    }
}
