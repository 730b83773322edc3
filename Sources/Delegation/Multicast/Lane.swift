/// The members that are called in one place, and the messages that wait for them. The place is an actor, or the thread of
/// each caller.
///
/// `@unchecked Sendable` is correct because the lock of the ``Membership`` guards all that changes.
@usableFromInline
final class Lane: @unchecked Sendable {
    /// A message that waits, and the members when it was sent.
    struct Item {
        let message: Message
        let members: [Member?]
        /// The thread that sent it.
        let thread: UInt
    }

    enum Phase {
        case idle
        /// A job on the actor, or a task, will send what waits.
        case scheduled
        /// A thread calls members, and will send what waits.
        case busy
    }

    /// The identity of the actor; `nil` for the thread of each caller.
    let isolation: ObjectIdentifier?
    private let isMain: Bool
    /// Whether a change that waits is merged with the next one.
    let delivery: StateDelivery
    /// The number of messages that may wait.
    private let limit: Int
    /// Not kept alive.
    weak let actor: (any Actor)?
    var roster = Roster()
    /// At this number of members, released ones are removed: twice as many as were left last time.
    var sweepCount = 16
    var phase = Phase.idle
    private var waiting: [Item?] = []
    /// How many of them were taken.
    private var taken = 0

    init(_ actor: (any Actor)?, _ delivery: StateDelivery, limit: Int) {
        self.actor = actor
        self.delivery = delivery
        self.limit = delivery == .latest ? 1 : max(1, limit)
        isolation = actor.map(ObjectIdentifier.init)
        isMain = actor === MainActor.shared
    }

    /// Whether this thread may call the members.
    var isHere: Bool { isolation == nil || isMain && MainThread.isCurrent }

    var next: Item? { taken < waiting.count ? waiting[taken] : nil }

    /// A message that left a full queue to make room for the next one. The caller releases it without the lock.
    enum Displaced {
        /// A part of the next one.
        case merged(Item)
        case dropped(Item)
    }

    /// Appends a message for all members. If too many wait, it is merged with the last one, or replaces the first one.
    func append(_ item: Item) -> Displaced? {
        guard let last = waiting.last ?? nil, waiting.count - taken >= limit else {
            waiting.append(item)
            return nil
        }
        if let merged = last.message.merged(with: item.message) {
            // These members include the others that still are members.
            waiting[waiting.count - 1] = Item(message: merged, members: item.members, thread: item.thread)
            return .merged(last)
        }
        waiting.append(item)
        defer { removeNext() }
        return next.map { .dropped($0) }
    }

    /// Appends a message for a new member alone, which no other message can contain.
    func appendFirst(_ item: Item) { waiting.append(item) }

    func removeNext() {
        waiting[taken] = nil
        taken += 1
        if taken == waiting.count || taken > 1000 && taken > waiting.count / 2 {
            waiting.removeFirst(taken)
            taken = 0
        }
    }
}
