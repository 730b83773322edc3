import HeraldDelivery
import HeraldModel

extension LogWriter {
    /// The state of the writer's thread between transactions.
    struct State {
        var nextDelegateKey: DelegateKey
        var log: LogFollower
        let cluster: any Cluster
        let reader: LazyReader
        var lastMark: LogMark
        /// The id of the entry with which the audit log is counted next. It has no more entries than its last id.
        var nextAuditTrim = AuditEntry.limit + AuditEntry.slack
        /// There may be more expired responses than the last housekeeping has removed.
        var hasExpiredAnswers = false
        var erased = ErasedEvents()
        /// The first block of the log whose counts are not stored yet.
        var firstOpenBlock: Int64
        /// Monotonic nanoseconds.
        var nextHousekeeping: Int64 = 0
        /// Monotonic nanoseconds.
        var nextCheck: Int64 = 0
        /// The responses that wait until the write-ahead log has no copy of what was erased.
        var answersOfErasures: [() -> Void] = []
        /// When the log is copied for them, in monotonic nanoseconds: erasures share a copy, because commits wait for it.
        var nextErasingCopy: Int64 = 0
        var steps = StepPace()
        var pace = CommitPace()

        init(_ start: Start, _ cluster: any Cluster, _ reader: LazyReader) {
            self.cluster = cluster
            self.reader = reader
            nextDelegateKey = start.nextDelegateKey
            log = LogFollower(head: start.head)
            firstOpenBlock = AppBlock.number(of: start.head + 1)
            lastMark = start.lastMark ?? LogMark(sequence: 0, time: 0)
        }

        /// Called when others could not be followed: they are later, unless the store lacks what is needed. An error of the read
        /// itself, whatever the store has refused it for, says nothing of what is on disk.
        func lost(_ error: StoreError, _ hooks: Hooks) {
            reader.close()
            if case .replaced(StoreError.followed, _) = error { hooks.onDurabilityLost(error) }
        }

        func plan(isRepeated: Bool = false) -> WritePlan {
            WritePlan(erased: erased, nextDelegateKey: nextDelegateKey, isRepeated: isRepeated)
        }

        /// Whether housekeeping does not wait for submissions.
        var removesAnswers: Bool { hasExpiredAnswers && cluster.runsMaintenance }

        /// The blocks that are full and not stored yet.
        var filledBlocks: Range<Int64> { firstOpenBlock..<AppBlock.number(of: log.position + 1) }
    }
}
