package import HeraldDelivery
package import HeraldModel

/// A delivery in a list.
package struct DeliveryRow: Sendable {
    /// `nil` if it was deleted.
    package let delegate: WebhookDelegate?
    /// `nil` if it was deleted while the list was read.
    package let delegateID: String?
    /// Its data may be missing. `nil` if the log no longer has it, or if it is damaged.
    package let event: Event?
    package let state: DeliveryState
    package private(set) var reason: String?
    package private(set) var attempts = 0
    package private(set) var isReplay = false
    /// Milliseconds since 1970 UTC.
    package private(set) var nextAttemptAt: Int64?
    package private(set) var endedAt: Int64?
    /// `nil` if there was none, or if it was removed.
    package private(set) var lastAttempt: AttemptRecord?

    /// A delivery with a row in the store.
    package init(_ delivery: WaitingDelivery, _ event: Event?, _ lastAttempt: AttemptRecord?, _ hub: Hub) {
        let delegate = hub.committed.registry.delegate(key: delivery.delegate)
        let lane = delegate.flatMap { hub.lane(of: $0) }
        let state = DeliveryState(delivery.state)
        self.delegate = delegate
        delegateID = delegate?.id
        self.event = event
        self.state = state
        reason = delegate?.reason(of: state, delivery.state, lane)
        attempts = delivery.attempts
        isReplay = delivery.isReplay
        // The schedule does not apply to a delegate that is stopped or gets only probes.
        let isTold = delegate?.shownStatus(lane) == .active
        nextAttemptAt = state == .retrying && isTold ? delivery.dueAt : nil
        endedAt = state == .retrying ? nil : delivery.dueAt
        self.lastAttempt = lastAttempt
    }

    /// A delivery that has succeeded, also to a delegate that was deleted since then.
    /// - Parameter record: its last successful attempt.
    init(
        delivered record: AttemptRecord, _ event: Event?, _ hub: Hub, _ reader: any StoreReader
    ) throws(StoreError) {
        let delegate = hub.committed.registry.delegate(key: record.delegate)
        self.delegate = delegate
        if let delegate {
            delegateID = delegate.id
        } else {
            delegateID = try reader.deletedDelegateID(record.delegate)
        }
        self.event = event
        state = .delivered
        attempts = record.number
        isReplay = record.isReplay
        endedAt = record.startedAt + record.duration / 1000
        lastAttempt = record
    }

    /// A delivery without any attempt.
    package init(pending event: Event, _ delegate: WebhookDelegate, _ lane: LaneSnapshots.Entry?) {
        self.delegate = delegate
        delegateID = delegate.id
        self.event = event
        state = .pending
        reason = delegate.reason(of: .pending, nil, lane)
    }
}

/// The events of a page, by position, without their data: a page of large ones would take more memory than the server may use.
package struct EventHeads {
    private var events: [LogPosition: Event] = [:]

    /// A reader's thread.
    package init(_ sequences: some Sequence<LogPosition>, _ reader: any StoreReader) throws {
        for sequence in Set(sequences) { events[sequence] = try Self.event(sequence, reader)?.withoutData }
    }

    package subscript(sequence: LogPosition) -> Event? { events[sequence] }

    /// One event with its data; `nil` if the log no longer has it, or if it is damaged. A reader's thread.
    package static func event(_ sequence: LogPosition, _ reader: any StoreReader) throws -> Event? {
        let batch = try reader.events(after: sequence - 1, limit: 1, maxBytes: 1)
        return batch.first == sequence ? batch.events.first(where: { !$0.isDamaged }) : nil
    }
}
