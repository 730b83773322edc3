import HeraldDelivery
import HeraldJSON
package import HeraldModel

/// The state of the delivery of one event to one delegate. `pending` and `delivered` have no row in the store.
public enum DeliveryState: String, Sendable, CaseIterable {
    /// There was no attempt yet.
    case pending
    /// An attempt failed, and there will be another one.
    case retrying
    /// The receiver has accepted the event.
    case delivered
    /// The retry schedule is used up.
    case exhausted
    /// It was cancelled, or the webhook was deleted or changed.
    case dropped

    package init(_ state: WaitingDelivery.State) {
        switch state {
        case .retrying: self = .retrying
        case .exhausted: self = .exhausted
        case .dropped, .unwanted, .damaged: self = .dropped
        }
    }

    /// The corresponding stored states.
    package var stored: Set<WaitingDelivery.State> {
        switch self {
        case .retrying: [.retrying]
        case .exhausted: [.exhausted]
        case .dropped: [.dropped, .unwanted, .damaged]
        case .pending, .delivered: []
        }
    }
}

/// The delivery of one event to one delegate, with its attempts.
package struct DeliveryStory: Sendable {
    package let key: DelegateKey
    package let delegateID: String
    /// `nil` if the delegate was deleted.
    package let url: String?
    /// The description of the delegate; `nil` if it was deleted.
    package let description: String?
    package let state: DeliveryState
    package let reason: String?
    /// Oldest first.
    package let attempts: [StoredAttempt]
    package let nextAttemptAt: Int64?

    /// All deliveries of an event, in the order of the registration of the delegates. A reader's thread.
    package static func all(of logged: LoggedEvent, _ hub: Hub, _ reader: any StoreReader) throws -> [DeliveryStory] {
        // Before the store is read: deliveries that are settled in between are found there.
        let view = EventView(logged.event, within: WorkBudget())
        var keys = Set(
            hub.committed.registry.list(logged.event.app, where: { isPending(logged, view, $0, hub) }).map(\.key))
        if view.budget.isSpent { throw HubError.budgetExceeded }
        let (stored, waitingRows) = try rows(of: logged.sequence, hub, reader)
        let attempts = Dictionary(grouping: stored, by: \.record.delegate)
        let waiting = Dictionary(waitingRows.map { ($0.delegate, $0) }, uniquingKeysWith: { $1 })
        keys.formUnion(attempts.keys)
        keys.formUnion(waiting.keys)
        return try keys.sorted().compactMap { key in
            let records = attempts[key] ?? []
            if let delegate = hub.committed.registry.delegate(key: key) {
                return story(delegate, hub.lane(of: delegate), records, waiting[key])
            }
            guard let id = try reader.deletedDelegateID(key) else { return nil }
            let isDelivered = records.contains(where: \.record.succeeded)
            return DeliveryStory(
                key: key, delegateID: id, url: nil, description: nil, state: isDelivered ? .delivered : .dropped,
                reason: isDelivered ? nil : Reason.delegateDeleted(), attempts: records, nextAttemptAt: nil)
        }
    }

    /// A part of the deliveries of an event: failed ones first, then those that wait, within a state in the order of the
    /// registration of the delegates.
    package struct Page: Sendable {
        /// A delivery in the list.
        package struct Position: Comparable, Sendable {
            /// The index in `order`.
            package let rank: Int
            package let delegate: DelegateKey

            package init(rank: Int, delegate: DelegateKey) {
                self.rank = rank
                self.delegate = delegate
            }

            package static func < (left: Self, right: Self) -> Bool {
                (left.rank, left.delegate) < (right.rank, right.delegate)
            }
        }

        package static let order: [DeliveryState] = [.exhausted, .dropped, .retrying, .pending, .delivered]

        package let stories: [DeliveryStory]
        /// The number of all deliveries of the event in each state that has some.
        package let counts: [DeliveryState: Int]
        /// The last delivery of the page; `nil` if there are no more.
        package let next: Position?

        /// - Parameters:
        ///   - state: only deliveries in this state; `nil` for all.
        ///   - last: only deliveries after this one.
        package init(_ all: [DeliveryStory], state: DeliveryState?, after last: Position?, limit: Int) {
            counts = all.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
            let found = all.filter { state == nil || $0.state == state }.map { story in
                let rank = Self.order.firstIndex(of: story.state) ?? Self.order.count
                return (position: Position(rank: rank, delegate: story.key), story: story)
            }
            .filter { one in last.map { one.position > $0 } ?? true }.sorted { $0.position < $1.position }
            stories = found.prefix(limit).map(\.story)
            next = found.count > limit ? found[limit - 1].position : nil
        }
    }

    /// How many moments it tries to find one without new attempts. An event that is redelivered all the time may have none.
    private static let maxMoments = 8

    /// The last attempts, and the waiting deliveries, of the same moment if there is one. A checkpoint may be committed
    /// between two reads. Whatever it changes includes an attempt, so if there are no new attempts, nothing has changed.
    private static func rows(
        of event: LogPosition, _ hub: Hub, _ reader: any StoreReader
    ) throws -> ([StoredAttempt], [WaitingDelivery]) {
        // In memory an attempt takes half a kibibyte, and more with an excerpt.
        let limit = max(500, hub.maxListBytes >> 9)
        var attempts = try reader.attempts(event: event, limit: limit)
        var waiting = try reader.waiting(event: event)
        for _ in 0..<maxMoments {
            let again = try reader.attempts(event: event, limit: limit)
            let isSame = again.count == attempts.count && again.last?.id == attempts.last?.id
            attempts = again
            if isSame { break }
            waiting = try reader.waiting(event: event)
        }
        return (attempts, waiting)
    }

    /// The event will be delivered, or was delivered so recently that its checkpoint is not committed.
    static func isPending(_ logged: LoggedEvent, _ view: EventView, _ delegate: WebhookDelegate, _ hub: Hub) -> Bool {
        // Events posted while a delegate is gone are not kept for it.
        guard delegate.status != .gone, logged.sequence > delegate.floor, !view.budget.isSpent,
            delegate.selection.matches(view)
        else { return false }
        if let cursor = hub.lane(of: delegate)?.cursor, logged.sequence > cursor { return true }
        return hub.isOnItsWay(logged.sequence, to: delegate.key)
    }

    /// The delivery whose last attempt this is; `nil` if there is a later one. A reader's thread.
    package static func last(
        _ attempt: StoredAttempt, of delegate: WebhookDelegate, _ hub: Hub, _ reader: any StoreReader
    ) throws -> DeliveryStory? {
        let event = attempt.record.event
        guard try reader.lastAttempt(delegate.key, event)?.id == attempt.id else { return nil }
        return story(delegate, hub.lane(of: delegate), [attempt], try reader.row(delegate, event))
    }

    static func story(
        _ delegate: WebhookDelegate, _ lane: LaneSnapshots.Entry?, _ attempts: [StoredAttempt],
        _ waiting: WaitingDelivery?
    ) -> DeliveryStory {
        let state: DeliveryState
        if let waiting {
            // Even after a success: it was redelivered.
            state = DeliveryState(waiting.state)
        } else {
            state = attempts.contains(where: \.record.succeeded) ? .delivered : .pending
        }
        let isHeld = delegate.shownStatus(lane) != .active
        return DeliveryStory(
            key: delegate.key, delegateID: delegate.id, url: delegate.settings.url,
            description: delegate.settings.description, state: state,
            reason: delegate.reason(of: state, waiting?.state, lane), attempts: attempts,
            nextAttemptAt: state == .retrying && !isHeld ? waiting?.dueAt : nil)
    }
}

extension WebhookDelegate {
    /// Why a delivery waits or has ended.
    /// - Parameter row: its stored state, if it has a row.
    func reason(of state: DeliveryState, _ row: WaitingDelivery.State?, _ lane: LaneSnapshots.Entry?) -> String? {
        switch state {
        case .delivered: nil
        case .exhausted: settings.request == nil ? Reason.exhausted() : Reason.exhaustedOrNotMade()
        case .dropped where row == .unwanted: Reason.unwanted()
        case .dropped where row == .damaged: Reason.damaged()
        case .dropped: status == .gone ? Reason.addressGone() : Reason.cancelled()
        case .pending, .retrying: shownReason(lane).map { Reason.delegateStopped(shownStatus(lane).rawValue, $0) }
        }
    }
}
