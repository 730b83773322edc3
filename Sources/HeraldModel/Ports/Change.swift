import HeraldCrypto

/// Something that every process which shares a store keeps in memory, and that a transaction has changed. It says what to
/// read again; the row is the truth.
package enum Change: Hashable, Sendable {
    case delegate(DelegateKey)
    case key(String)
    /// By the SHA-256 of its text.
    case session([UInt8])
    case app(AppKey)
    case eventType(String, AppKey)
    /// A delivery that was redelivered or cancelled by request.
    case delivery(DeliveryKey)
    /// A replay that was begun or ended by request.
    case replay(Int64, DelegateKey)
    /// The content of an event was erased. Its other rows are removed and counted by later steps of the erasure.
    case erasing(LogPosition)
    /// An event was erased, with all its rows.
    case event(LogPosition)
    /// Auth statuses of the app were erased.
    case statuses(AppKey)
    /// Something was removed from a block of the log.
    case block(Int64)
    /// The log begins later than before.
    case firstEvent
    /// The scheduled events of an app.
    case pending(AppKey)
}

/// The changes of one transaction.
package struct ChangeSet: Equatable, Sendable {
    /// From 1, without gaps, in the order of the commits.
    package let number: Int64
    /// Chosen by the process that ran the transaction, which recognizes it when the outcome of the commit is unknown.
    package let name: Int64
    /// May be empty.
    package let changes: [Change]
    package init(number: Int64, name: Int64, changes: [Change]) {
        self.number = number
        self.name = name
        self.changes = changes
    }
}

/// The ends of the log and of the list of changes.
package struct StoreEnds: Equatable, Sendable {
    /// The last event of the log ever, 0 if there was none.
    package var event: LogPosition
    /// The number of the last set of changes, 0 before the first.
    package var change: Int64
    /// Programs have published events with SQL, which wait for a node.
    package var hasSubmissions = false

    package init(event: LogPosition, change: Int64) {
        self.event = event
        self.change = change
    }
}

/// The rows that changes name, as they are now. Requested rows that are missing do not exist any more.
package struct ChangedRows: Sendable {
    package var delegates: [WebhookDelegate] = []
    package var keys: [APIKey] = []
    package var sessions: [Session] = []
    package var apps: [App] = []
    package var eventTypes: [EventTypeRecord] = []
    /// With their subjects.
    package var deliveries: [WaitingDelivery] = []
    package var replays: [Replay] = []
    /// The counts of the blocks, without empty ones.
    package var blocks: [AppBlock] = []
    /// The counts of scheduled events, without counts of 0.
    package var pending: [PendingCount] = []
    /// The first remaining event, if that was requested.
    package var first: LogPosition?
    /// The apps and blocks whose rows can't be read. Memory keeps the values that it has: without a row an app would be removed, and a
    /// block would be empty.
    package var unreadable: Set<Change> = []
    package init() {}
}

/// A change as stores may keep it: a word and its key, for people who look into the database, too.
extension Change {
    package var text: String {
        switch self {
        case .delegate(let key): "delegate \(key)"
        case .key(let id): "key \(id)"
        case .session(let digest): "session \(Hex.encode(digest))"
        case .app(let key): "app \(key.rawValue)"
        case .eventType(let type, let app): "type \(app.rawValue) \(type)"
        case .delivery(let key): "delivery \(key.delegate) \(key.event)"
        case .replay(let id, let delegate): "replay \(id) \(delegate)"
        case .erasing(let position): "erasing \(position)"
        case .event(let position): "event \(position)"
        case .statuses(let app): "statuses \(app.rawValue)"
        case .block(let block): "block \(block)"
        case .firstEvent: "first"
        case .pending(let app): "pending \(app.rawValue)"
        }
    }

    /// `nil` if the text is malformed.
    package init?(text: String) {
        let words = text.split(separator: " ", maxSplits: 2).map(String.init)
        // Keys and positions are not negative, and far from the end of their range.
        let numbers = words.dropFirst().map { word in Int64(word).flatMap { (0..<1 << 53).contains($0) ? $0 : nil } }
        switch (words.first, words.count, numbers.first ?? nil, numbers.last ?? nil) {
        case ("delegate", 2, let key?, _): self = .delegate(key)
        case ("key", 2, _, _): self = .key(words[1])
        case ("session", 2, _, _):
            guard let digest = Hex.decode(words[1]) else { return nil }
            self = .session(digest)
        case ("app", 2, let app?, _): self = .app(AppKey(rawValue: app))
        case ("type", 3, let app?, _): self = .eventType(words[2], AppKey(rawValue: app))
        case ("delivery", 3, let key?, let event?): self = .delivery(DeliveryKey(delegate: key, event: event))
        case ("replay", 3, let id?, let key?): self = .replay(id, key)
        case ("erasing", 2, let position?, _): self = .erasing(position)
        case ("event", 2, let position?, _): self = .event(position)
        case ("statuses", 2, let app?, _): self = .statuses(AppKey(rawValue: app))
        case ("block", 2, let block?, _): self = .block(block)
        case ("first", 1, _, _): self = .firstEvent
        case ("pending", 2, let app?, _): self = .pending(AppKey(rawValue: app))
        default: return nil
        }
    }
}
