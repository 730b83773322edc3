public import Synchronization

/// Passes items between threads: many threads append, one takes the whole batch. The lock is held for a few
/// instructions.
///
/// Inlinable, so that it is specialized for its items: without specialization a post took 1,400 instructions. That needs
/// `@usableFromInline` for the type too: a package type without it is not specialized in other modules.
@usableFromInline package final class Mailbox<Item: Sendable>: Sendable {
    @usableFromInline let items = Mutex<[Item]>([])
    @usableFromInline let wake: @Sendable () -> Void

    /// - Parameter wake: called once for each batch, by the thread that adds the first item to an empty mailbox.
    package init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    /// A mailbox whose reader waits for `wakeup`.
    package convenience init(wakeup: Wakeup) {
        self.init(wake: { wakeup.signal() })
    }

    /// Any thread. Never blocks longer than another `post` or `takeAll`.
    @inlinable
    package func post(_ item: Item) {
        let first = items.withLock { items in
            items.append(item)
            return items.count == 1
        }
        if first { wake() }
    }

    /// Everything posted so far, in order. One thread.
    @inlinable
    package func takeAll() -> [Item] {
        items.withLock { items in
            if items.isEmpty { return [] }
            var batch: [Item] = []
            batch.reserveCapacity(items.count)
            swap(&batch, &items)
            return batch
        }
    }
}
