/// The state of a lane that only deliveries change: flow control and waiting deliveries.
///
/// It is allocated with the first change: most of many delegates are idle, and all would have its size. A value that is owned by
/// its lane; it must not be copied.
struct LaneActivity {
    private final class Storage {
        var flow = FlowControl()
        var waiting: WaitingDeliveries

        init(_ waiting: WaitingDeliveries) { self.waiting = waiting }
    }

    // Read while nothing is allocated.
    private static let initialFlow = FlowControl()
    private static let noneWaiting = WaitingDeliveries(0, .none, limit: .max)

    private var storage: Storage?
    private let delegate: DelegateKey
    private let limit: Int
    private var ordering: WebhookSettings.Ordering

    /// - Parameter limit: the maximum number of waiting deliveries in memory.
    init(_ delegate: WebhookDelegate, limit: Int) {
        self.delegate = delegate.key
        self.limit = limit
        ordering = delegate.settings.ordering
    }

    /// Nothing was learned about the receiver, nothing waits, and no attempt is open.
    var isInitial: Bool { storage == nil }

    var flow: FlowControl {
        _read { if let storage { yield storage.flow } else { yield Self.initialFlow } }
        _modify { yield &changed().flow }
    }

    var waiting: WaitingDeliveries {
        _read { if let storage { yield storage.waiting } else { yield Self.noneWaiting } }
        _modify { yield &changed().waiting }
    }

    /// The ordering of the delegate has changed.
    mutating func reorder(_ new: WebhookSettings.Ordering) {
        ordering = new
        storage?.waiting.reorder(new)
    }

    private mutating func changed() -> Storage {
        if let storage { return storage }
        let new = Storage(WaitingDeliveries(delegate, ordering, limit: limit))
        storage = new
        return new
    }
}
