/// Feeds a stream as long as a delegate that has it is a member of a collection; then the stream ends.
final class Feed<Element: Sendable>: Sendable {
    private let continuation: AsyncStream<Element>.Continuation

    fileprivate init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

    func yield(_ element: Element) { continuation.yield(element) }

    deinit { continuation.finish() }
}

extension Membership {
    /// A stream that a new delegate feeds, on the thread of each caller, until the stream is no longer used.
    ///
    /// - Parameters:
    ///   - delegate: creates the delegate.
    ///   - first: see ``add(_:_:on:_:first:replacesWeak:)``.
    func stream<Element: Sendable, Delegate>(
        _ buffering: AsyncStream<Element>.Continuation.BufferingPolicy,
        delegate: (Feed<Element>) -> Delegate, first: (() -> Message?)? = nil
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
        let member = StrongMember(delegate(Feed(continuation)))
        // Not kept alive by the stream: it ends with the collection.
        continuation.onTermination = { [weak self, weak member] _ in
            if let member { self?.remove(member) }
        }
        add(member, .address(member.address), first: first)
        return stream
    }
}
