#if canImport(Darwin)
    internal import Darwin
#else
    internal import Synchronization
#endif

/// Calls the delegates of members. Returns the members whose delegate was released.
@usableFromInline typealias Message = @Sendable ([Member?]) -> [Member]

/// The members that are called in one place, and the messages that wait for them. The place is an actor, or the thread of
/// each caller.
///
/// `@unchecked Sendable` is correct because the lock of the ``Membership`` guards all that changes.
@usableFromInline
final class Lane: @unchecked Sendable {
    /// A message, and the members when it was sent.
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

    /// Of the actor; `nil` for the thread of each caller.
    let isolation: ObjectIdentifier?
    private let isMain: Bool
    /// Not kept alive.
    weak let actor: (any Actor)?
    var roster = Roster()
    /// At this number of members, released ones are removed: twice as many as were left last time.
    var sweepCount = 16
    var phase = Phase.idle
    private var waiting: [Item?] = []
    /// How many of them were taken.
    private var taken = 0

    init(_ actor: (any Actor)?) {
        self.actor = actor
        isolation = actor.map(ObjectIdentifier.init)
        isMain = actor === MainActor.shared
    }

    /// Whether this thread may call the members.
    var isHere: Bool { isolation == nil || isMain && MainThread.isCurrent }

    var next: Item? { taken < waiting.count ? waiting[taken] : nil }

    func append(_ item: Item) { waiting.append(item) }

    func removeNext() {
        waiting[taken] = nil
        taken += 1
        if taken == waiting.count || taken > 1000 && taken > waiting.count / 2 {
            waiting.removeFirst(taken)
            taken = 0
        }
    }
}

/// The thread of the main actor.
@usableFromInline
enum MainThread {
    #if canImport(Darwin)
        static var isCurrent: Bool { pthread_main_np() != 0 }

        @usableFromInline
        static func record(on isolation: isolated (any Actor)?) {}
    #else
        /// 0 until code of the main actor has recorded it.
        private static let identity = Atomic<UInt>(0)

        static var isCurrent: Bool { identity.load(ordering: .relaxed) == ThreadIdentity.current }

        /// Notes the current thread if it is that of the main actor.
        @usableFromInline
        static func record(on isolation: isolated (any Actor)?) {
            if isolation === MainActor.shared { identity.store(ThreadIdentity.current, ordering: .relaxed) }
        }
    #endif
}
