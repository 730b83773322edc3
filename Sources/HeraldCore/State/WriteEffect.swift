import HeraldModel

/// A change of a committed transaction, with its values, for the components that keep a part of the store in memory. In order.
enum WriteEffect: Sendable {
    case set(WebhookDelegate)
    case remove([WebhookDelegate])
    /// Deliveries are to be repeated.
    case redelivered([WaitingDelivery])
    /// Deliveries were ended by request.
    case dropped([DeliveryKey])
    /// The deliveries that were requested are known up to this change.
    case known(change: Int64)
    case replay(Replay)
    /// A replay was ended by request.
    case endReplay(Int64, DelegateKey)
    /// The contents of these events were removed; with the last step all their rows.
    case erased(Set<LogPosition>, of: AppKey, isLast: Bool)
    /// Remembered auth statuses of this app must be discarded.
    case erasedStatuses(AppKey)
    /// Events of a pull delegate were handed out or settled, or its lane was moved.
    case pulled(PullChange)
    /// The new first position of the log.
    case trimmed(first: LogPosition)
    /// The new counts of a block of the log.
    case counted(block: Int64, [AppBlock])
    /// Attempts were recorded, which take about this much.
    case recordedAttempts(bytes: Int)
    case setEventType(EventTypeRecord)
    case removeEventType(String, AppKey)
    case setKey(APIKey)
    case removeKey(APIKey)
    case setSession(Session)
    case removeSession([UInt8])
    case setApp(App)
    case removeApp(App)
    /// The scheduled events of an app, and when the earliest of those that were added is due (`.max` for none); `nil` if that is
    /// unknown.
    case pending(PendingCount, earliest: Int64?)
    /// When the next scheduled event is due, `nil` if there is none; and how the next transaction searches for due events.
    case nextPending(Int64?, PendingTurn)
    /// An event that was committed can't be published, and was put aside.
    case refused(RefusedEvent)
}

extension WriteEffect {
    /// A request for deliveries, or for their end.
    var isRequest: Bool {
        switch self {
        case .redelivered, .dropped: true
        default: false
        }
    }

    /// It adds to counts of the process that has committed it, and is true whatever others have changed since.
    var isCount: Bool {
        switch self {
        case .pulled, .refused: true
        default: false
        }
    }

    /// The changes that other processes are notified of.
    var changes: [Change] {
        switch self {
        case .set(let delegate): [.delegate(delegate.key)]
        case .remove(let delegates): delegates.map { .delegate($0.key) }
        case .redelivered(let deliveries): deliveries.map { .delivery($0.key) }
        case .dropped(let deliveries): deliveries.map { .delivery($0) }
        case .replay(let replay): [.replay(replay.id, replay.delegate)]
        case .endReplay(let id, let delegate): [.replay(id, delegate)]
        case .erased(let events, _, let isLast): events.sorted().map { isLast ? .event($0) : .erasing($0) }
        case .erasedStatuses(let app): [.statuses(app)]
        case .trimmed: [.firstEvent]
        case .counted(let block, _): [.block(block)]
        case .setEventType(let record): [.eventType(record.type, record.app)]
        case .removeEventType(let type, let app): [.eventType(type, app)]
        case .setKey(let key), .removeKey(let key): [.key(key.id)]
        case .setSession(let session): [.session(session.digest)]
        case .removeSession(let digest): [.session(digest)]
        case .setApp(let app), .removeApp(let app): [.app(app.key)]
        case .pending(let count, _): [.pending(count.app)]
        // Its pulls are woken, as after a change of the delegate.
        case .pulled(let change): change.isSought ? [.delegate(change.delegate)] : []
        case .recordedAttempts, .known, .nextPending, .refused: []
        }
    }
}
