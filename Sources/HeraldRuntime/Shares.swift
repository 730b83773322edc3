/// How many of a number of slots each holder has, and whether it has more than its share of them.
///
/// A share is a multiple of the slots that are free. So with any number of holders that take all they can get, some slots
/// stay free for others: with a factor of two, one such holder gets two thirds of the slots, four get two ninths each, and
/// forty a fortieth each. This is the dynamic threshold of Choudhury and Hahne (IEEE/ACM Transactions on Networking 6(2), 1998).
/// A value; its owner synchronizes access.
///
/// Inlinable, so that it is specialized for its holders.
@usableFromInline package struct Shares<Holder: Hashable & Sendable>: Sendable {
    @usableFromInline let slots: Int
    @usableFromInline let factor: Int
    @usableFromInline let minimum: Int
    /// For the holders that have slots.
    @usableFromInline var counts: [Holder: Int] = [:]
    @usableFromInline package internal(set) var total = 0

    /// - Parameters:
    ///   - slots: at least 1.
    ///   - factor: how many times as many slots as are free a holder may have.
    ///   - minimum: a share is never smaller.
    @inlinable
    package init(slots: Int, factor: Int, minimum: Int = 1) {
        self.slots = slots
        self.factor = factor
        self.minimum = minimum
    }

    @inlinable
    package mutating func add(_ holder: Holder) {
        counts[holder, default: 0] += 1
        total += 1
    }

    @inlinable
    package mutating func remove(_ holder: Holder) {
        total -= 1
        let count = count(of: holder) - 1
        counts[holder] = count > 0 ? count : nil
    }

    @inlinable
    package func count(of holder: Holder) -> Int { counts[holder, default: 0] }

    /// How many slots the holder has beyond its share; 0 if none.
    /// - Parameter others: further slots that are taken.
    @inlinable
    package func excess(of holder: Holder, others: Int = 0) -> Int {
        let free = max(0, slots - total - others)
        return max(0, count(of: holder) - max(minimum, factor * free))
    }
}
