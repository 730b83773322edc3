/// The handles of a sender. A free handle that last served the same delegate is preferred, because it already has all
/// settings (saves 2–6 µs with 100 delegates). Otherwise a new one is made while there are few, and after that any free
/// one is used.
struct TransferPool {
    private(set) var all: [Transfer] = []
    /// A bit for each free handle.
    private var free: [UInt64] = []
    private var freeCount = 0
    /// Where the last search for a free handle ended.
    private var hand = 0

    /// - Parameters:
    ///   - open: number of open callbacks, including this one.
    ///   - make: called with the index of the new handle; returns `nil` if it cannot be made.
    mutating func take(_ target: Target, open: Int, limit: Int, make: (Int) -> Transfer?) -> Transfer? {
        if let index = target.idle.popLast() { return claim(index) }
        if all.count < min(limit, 2 * open + 64) || freeCount == 0, all.count < limit, let transfer = make(all.count) {
            if all.count.isMultiple(of: 64) { free.append(0) }
            all.append(transfer)
            return transfer
        }
        guard freeCount > 0 else { return nil }
        for _ in free.indices {
            hand = hand + 1 < free.count ? hand + 1 : 0
            if free[hand] == 0 { continue }
            let index = hand * 64 + free[hand].trailingZeroBitCount
            all[index].target?.idle.removeAll { $0 == index }
            return claim(index)
        }
        return nil
    }

    mutating func put(_ transfer: Transfer) {
        free[transfer.index / 64] |= 1 << UInt64(transfer.index % 64)
        freeCount += 1
        transfer.target?.idle.append(transfer.index)
    }

    private mutating func claim(_ index: Int) -> Transfer {
        free[index / 64] &= ~(1 << UInt64(index % 64))
        freeCount -= 1
        return all[index]
    }
}
