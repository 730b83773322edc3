/// A call of the delegates of members, as an object that can wait.
///
/// `@unchecked Sendable` is correct because messages are constant.
@usableFromInline
class Message: @unchecked Sendable {
    /// Calls the delegates. Returns the members whose delegate was released. It gets this message instead of capturing
    /// it, so that it needs no memory; as a method it would not be specialized in other modules.
    @usableFromInline typealias Call = @Sendable (Message, [Member?]) -> [Member]

    private let call: Call

    @usableFromInline
    init(_ call: @escaping Call) { self.call = call }

    /// Calls the delegates of the members.
    /// - Returns: the members whose delegate was released.
    final func send(to members: [Member?]) -> [Member] { call(self, members) }

    /// One message in place of this one and the next one; `nil` if there is none. Called with the lock.
    func merged(with next: Message) -> Message? { nil }
}

/// A closure that is called with each delegate.
@usableFromInline
final class ClosureMessage<Delegate>: Message, @unchecked Sendable {
    @usableFromInline let body: @Sendable (Delegate) -> Void

    @inlinable
    convenience init(_ body: @escaping @Sendable (Delegate) -> Void) {
        self.init(body) { message, members in
            members.forEachDelegate(
                Delegate.self, unsafeDowncast(message, to: ClosureMessage<Delegate>.self).body)
        }
    }

    @usableFromInline
    init(_ body: @escaping @Sendable (Delegate) -> Void, call: @escaping Call) {
        self.body = body
        super.init(call)
    }
}
