extension LogWriter {
    /// What the writer's thread keeps from one transaction to the next.
    struct State {
        var nextDelegateKey: DelegateKey
        var log: LogFollower
        var changes: ChangeFollower
        /// `nil` if all delegates belong to this process.
        var cluster: (any Cluster)?
        var lastMark: LogMark
        var erased = ErasedEvents()
        /// The first block of the log whose counts are not stored yet.
        var firstOpenBlock: Int64
        /// Monotonic nanoseconds.
        var nextHousekeeping: Int64 = 0
        /// Monotonic nanoseconds.
        var nextLook: Int64 = 0
        /// Monotonic nanoseconds.
        var nextFollow: Int64 = 0
        /// The responses that wait until the write-ahead log has no copy of what was erased.
        var answersOfErasures: [() -> Void] = []
        /// When the log is copied for them, in monotonic nanoseconds: erasures share a copy, because commits wait for it.
        var nextErasingCopy: Int64 = 0
        /// Opened when it is needed.
        private var openReader: (any StoreReader)?

        init(_ start: Start) {
            nextDelegateKey = start.nextDelegateKey
            changes = ChangeFollower(known: start.lastChange)
            log = LogFollower(head: start.head)
            firstOpenBlock = AppBlock.number(of: start.head + 1)
            lastMark = start.lastMark ?? LogMark(sequence: 0, time: 0)
        }

        mutating func reader(_ store: any EventStore) throws(StoreError) -> any StoreReader {
            if let openReader { return openReader }
            let reader = try store.makeReader()
            openReader = reader
            return reader
        }

        /// Called when others could not be followed: they are later, unless the store lacks what is needed.
        mutating func lost(_ error: StoreError, _ hooks: Hooks) {
            openReader = nil
            if case .failed = error { hooks.onDurabilityLost(error) }
        }

        /// The blocks that are full and not stored yet.
        var filledBlocks: Range<Int64> { firstOpenBlock..<AppBlock.number(of: log.told + 1) }
    }

    /// The effects of a transaction, to be carried out once it is durable.
    package struct Plan {
        var events: [Event] = []
        /// How many of the events are appended to the store already.
        var appended = 0
        /// The watches of publishers, by the index of the event in `events`.
        var watched: [Int: DeliveryWatch] = [:]
        var effects: [WriteEffect] = []
        var posted: [(publication: Publication, events: [PublishedEvent])] = []
        /// The responses to all other submissions, in their order.
        var answers: [() -> Void] = []
        var erased: ErasedEvents
        /// The last event of the log, if it is known before the commit.
        var head: LogPosition?
        var mark: LogMark?
        /// The bytes that this transaction adds for apps with a storage limit.
        var added: [AppKey: Int64] = [:]
        /// The blocks of the log from which something was removed.
        var changedBlocks: Set<Int64> = []
        /// The blocks that were filled by earlier transactions: their counts are due to be stored.
        var filledBlocks: Range<Int64>?
        /// What the attempts take that this transaction records.
        var attemptBytes = 0
        /// What those took that it has removed to make room for them.
        var removedAttemptBytes: Int64 = 0
        /// A step has left something for the next one.
        var isPartial = false
        var lastChanged: DeliveryKey?
        /// The responses that say that something is erased: it has to leave the write-ahead log before.
        var answersOfErasures: [() -> Void] = []
        /// The bytes that erasures have removed from blocks of the log.
        var freed: [Int64: [AppKey: Int64]] = [:]
        /// The key of the next new delegate.
        let nextDelegateKey: DelegateKey
        /// Every event may be in the log already: it is not known whether this transaction was committed before.
        let isRepeated: Bool
        /// By which the list of changes tells whether it was committed.
        var name: Int64 = 0

        init(_ state: State, isRepeated: Bool = false) {
            erased = state.erased
            nextDelegateKey = state.nextDelegateKey
            self.isRepeated = isRepeated
        }
    }
}
