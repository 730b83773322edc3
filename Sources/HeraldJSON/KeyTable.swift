/// Hashes keys, and finds those with equal hashes among many.
///
/// The hash depends on random numbers of each process, so that clients can't prepare colliding keys to slow the parser
/// (wyhash's "folded multiply", https://github.com/wangyi-fudan/wyhash).
struct KeyTable {
    private let seed: UInt64
    private let factor: UInt64

    private static let secrets = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max) | 1)

    init() { (seed, factor) = KeyTable.secrets }

    /// - Parameter key: up to seven bytes after the key may be read, and are ignored.
    @inline(__always)
    func hash(_ key: UnsafePointer<UInt8>, count: Int) -> UInt32 {
        var state = seed ^ UInt64(truncatingIfNeeded: count)
        var next = key
        var left = count
        while left > 8 {
            state = fold(state ^ loadWord(next))
            next += 8
            left &-= 8
        }
        if left > 0 { state = fold(state ^ (loadWord(next) & (UInt64.max &>> UInt64(64 &- 8 &* left)))) }
        return UInt32(truncatingIfNeeded: fold(state) &>> 16)
    }

    /// The part of the hash that a ``Node`` has.
    /// - Parameter key: nothing is read behind it.
    func nodeHash(of key: UnsafeBufferPointer<UInt8>) -> UInt16 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: key.count + Tape.padding) { padded in
            padded.initialize(repeating: 0)
            for index in 0..<key.count { padded[index] = key[index] }
            guard let base = padded.baseAddress else { return 0 }
            return UInt16(truncatingIfNeeded: hash(base, count: key.count))
        }
    }

    @inline(__always)
    private func fold(_ value: UInt64) -> UInt64 {
        let (high, low) = value.multipliedFullWidth(by: factor)
        return high ^ low
    }

    /// A table of keys. Open addressing with linear probing; at most half full.
    struct Slots {
        /// The inserted item plus one; 0 is free.
        private var slots: [UInt32]
        /// Where the search for the current item continues, and which item it is.
        private var probe = 0
        private var current: UInt32?

        /// - Parameter count: the number of keys for which there is room.
        init(count: Int) {
            slots = [UInt32](repeating: 0, count: 1 << (Int.bitWidth - (2 * count - 1).leadingZeroBitCount))
        }

        /// Inserts the item into the first free slot. If an item is in the way, it is returned: compare it and call
        /// again.
        mutating func insert(_ item: UInt32, hash: UInt32) -> UInt32? {
            if current != item {
                current = item
                probe = Int(hash)
            }
            let slot = probe & (slots.count - 1)
            if slots[slot] == 0 {
                slots[slot] = item + 1
                return nil
            }
            probe += 1
            return slots[slot] - 1
        }
    }
}
