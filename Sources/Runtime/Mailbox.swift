import Synchronization

/// What crosses threads: many append, one takes the whole batch out. The lock is held for a few instructions.
public final class Mailbox<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])
    private let wakeup: Wakeup

    /// - Parameter wakeup: signalled once for each batch, by whoever puts the first item into an empty box.
    public init(wakeup: Wakeup) {
        self.wakeup = wakeup
    }

    /// Any thread. Never blocks longer than another `post` or `takeAll`.
    public func post(_ item: Item) {
        let first = items.withLock { items in
            items.append(item)
            return items.count == 1
        }
        if first { wakeup.signal() }
    }

    /// Everything posted so far, in order. One thread.
    public func takeAll() -> [Item] {
        items.withLock { items in
            if items.isEmpty { return [] }
            var batch: [Item] = []
            batch.reserveCapacity(items.count)
            swap(&batch, &items)
            return batch
        }
    }
}
