extension LogWriter {
    /// The state of the writer's thread between transactions.
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

        func plan(isRepeated: Bool = false) -> WritePlan {
            WritePlan(erased: erased, nextDelegateKey: nextDelegateKey, isRepeated: isRepeated)
        }

        /// The blocks that are full and not stored yet.
        var filledBlocks: Range<Int64> { firstOpenBlock..<AppBlock.number(of: log.told + 1) }
    }
}
