extension BidirectionalCollection {
    /// The part without such elements at its ends: a text without the spaces around it.
    @inlinable
    package func trimmed(while isLeftOut: (Element) -> Bool) -> SubSequence {
        let rest = drop(while: isLeftOut)
        guard let last = rest.lastIndex(where: { !isLeftOut($0) }) else { return rest }
        return rest[...last]
    }
}
