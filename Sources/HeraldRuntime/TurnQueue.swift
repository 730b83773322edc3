/// A queue in which keys take turns. The elements of a key keep their order: a key with many elements waits for its own, and
/// another key waits for one of them at most.
///
/// Inlinable, so that it is specialized for its elements.
@usableFromInline package struct TurnQueue<Key: Hashable, Element> {
    /// Optional so that an element that was taken is not held by the queue.
    @usableFromInline var waiting: [Key: FIFO<Element?>] = [:]
    /// The keys with elements; the next one first.
    @usableFromInline var turns = FIFO<Key>()
    @usableFromInline package internal(set) var count = 0

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { count == 0 }

    /// In no particular order.
    @inlinable package var elements: [Element] { waiting.values.flatMap { $0.compactMap { $0 } } }

    @inlinable
    package func count(of key: Key) -> Int { waiting[key]?.count ?? 0 }

    @inlinable
    package mutating func append(_ element: Element, of key: Key) {
        if count(of: key) == 0 { turns.append(key) }
        waiting[key, default: FIFO()].append(element)
        count += 1
    }

    /// Removes the first element of the key whose turn it is.
    @inlinable
    package mutating func takeFirst() -> Element? {
        guard let key = turns.popFirst(), let element: Element = waiting[key]?.takeFirst() else { return nil }
        if count(of: key) == 0 {
            waiting[key] = nil
        } else {
            turns.append(key)
        }
        count -= 1
        return element
    }
}
