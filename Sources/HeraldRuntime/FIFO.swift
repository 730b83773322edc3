/// A queue: elements are appended at its end and removed from its front, each in amortized constant time. A value;
/// its owner synchronizes access.
///
/// An array and the index of its front: removed elements are released in bulk, when they are half of the array, or by
/// ``compact()``; those that are optional, at once, by ``takeFirst()``.
///
/// Inlinable, so that it is specialized for its elements.
@usableFromInline package struct FIFO<Element> {
    @usableFromInline var items: [Element] = []
    /// The queue is `items[start...]`.
    @usableFromInline var start = 0

    @inlinable
    package init() {}

    @inlinable package var count: Int { items.count - start }
    /// The number of removed elements that are still in memory.
    @inlinable package var slack: Int { start }

    @inlinable
    package mutating func append(_ element: Element) { items.append(element) }

    /// Adds an element at the front. It takes linear time if none was removed since the last ``compact()``.
    @inlinable
    package mutating func prepend(_ element: Element) {
        if start == 0 { return items.insert(element, at: 0) }
        start -= 1
        items[start] = element
    }

    /// - Precondition: the queue is not empty.
    @inlinable
    @discardableResult
    package mutating func removeFirst() -> Element {
        let element = items[start]
        start += 1
        if start == items.count || start >= 64 && start * 2 >= items.count { compact() }
        return element
    }

    @inlinable
    package mutating func popFirst() -> Element? { isEmpty ? nil : removeFirst() }

    @inlinable
    package mutating func removeAll(where isUnwanted: (Element) throws -> Bool) rethrows {
        compact()
        try items.removeAll(where: isUnwanted)
    }

    @inlinable
    package mutating func removeAll() {
        items.removeAll()
        start = 0
    }

    /// Releases all removed elements.
    @inlinable
    package mutating func compact() {
        items.removeFirst(start)
        start = 0
    }

    /// A range of positions; 0 is the front.
    @inlinable
    package func elements(_ range: Range<Int>) -> [Element] {
        Array(items[start + range.lowerBound..<start + range.upperBound])
    }
}

extension FIFO where Element: Comparable {
    /// Adds an element in front of larger ones at the end. So a queue with no other additions is in ascending order.
    @inlinable
    package mutating func insert(_ element: Element) {
        var index = items.count
        while index > start, items[index - 1] > element { index -= 1 }
        items.insert(element, at: index)
    }
}

extension FIFO {
    /// Removes the first element and releases it from the queue at once. For elements that hold much, and for a queue that a
    /// lock guards: their release in bulk takes long.
    @inlinable
    package mutating func takeFirst<Wrapped>() -> Wrapped? where Element == Wrapped? {
        guard !isEmpty else { return nil }
        let element = items[start]
        items[start] = nil
        removeFirst()
        return element
    }
}

extension FIFO: Sendable where Element: Sendable {}

/// 0 is the front.
extension FIFO: RandomAccessCollection, MutableCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { count }

    @inlinable
    package subscript(index: Int) -> Element {
        get { items[start + index] }
        set { items[start + index] = newValue }
    }
}
