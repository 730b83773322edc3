import Synchronization

/// A number of bytes that holders share: one holder has at most three times as many as stay free, so that there are some for
/// others. One that has none needs only what is free. Any thread; the lock guards the sums.
package final class ByteRoom<Holder: Hashable & Sendable>: Sendable {
    private struct Sums {
        var total = 0
        /// For the holders that have some.
        var ofHolders: [Holder: Int] = [:]
    }

    /// Bytes that are given back with the object.
    package final class Part: Sendable {
        private let room: ByteRoom
        private let bytes: Int
        private let holder: Holder

        fileprivate init(_ room: ByteRoom, _ bytes: Int, _ holder: Holder) {
            self.room = room
            self.bytes = bytes
            self.holder = holder
        }

        deinit { room.give(back: bytes, of: holder) }
    }

    private let maxBytes: Int
    private let sums = Mutex(Sums())

    package init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Takes bytes. While none are taken, any number is there.
    /// - Parameter own: bytes that the caller has taken before, which do not count as taken in this respect.
    /// - Returns: `false` if there are not enough; nothing is taken then.
    package func take(_ bytes: Int, of holder: Holder, besides own: Int = 0) -> Bool {
        sums.withLock { sums in
            let held = sums.ofHolders[holder] ?? 0
            let free = maxBytes - sums.total - bytes
            let isInShare = held == own || held + bytes <= 3 * free
            guard sums.total == own || free >= 0 && isInShare else { return false }
            sums.total += bytes
            sums.ofHolders[holder] = held + bytes
            return true
        }
    }

    package func give(back bytes: Int, of holder: Holder) {
        sums.withLock { sums in
            sums.total -= bytes
            let left = (sums.ofHolders[holder] ?? 0) - bytes
            sums.ofHolders[holder] = left > 0 ? left : nil
        }
    }

    /// Takes bytes until the object is released; `nil` if there are not enough.
    package func part(_ bytes: Int, of holder: Holder) -> Part? {
        take(bytes, of: holder) ? Part(self, bytes, holder) : nil
    }

    /// The bytes that are taken.
    package var bytes: Int { sums.withLock { $0.total } }
}
