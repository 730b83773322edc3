import HeraldDelivery
import HeraldModel

/// The effects of a transaction, to be carried out once it is durable.
package struct WritePlan {
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
    /// The id of the entry with which the audit log is counted next.
    var nextAuditTrim: Int64?
    /// There may be more expired responses than this transaction has removed.
    var hasExpiredAnswers = false
    /// The number of committed events that this transaction refuses.
    var refused = 0
    /// The bytes that this transaction adds for apps with a storage limit.
    var added: [AppKey: Int64] = [:]
    /// The counts of scheduled events that this transaction has changed.
    var pending: [AppKey: PendingCount] = [:]
    /// The blocks of the log from which something was removed.
    var changedBlocks: Set<Int64> = []
    /// The blocks that were filled by earlier transactions: their counts are due to be stored.
    var filledBlocks: Range<Int64>?
    /// The bytes of the attempts that this transaction records.
    var attemptBytes = 0
    /// The bytes of the attempts that it has removed to make room for them.
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

    init(erased: ErasedEvents, nextDelegateKey: DelegateKey, isRepeated: Bool) {
        self.erased = erased
        self.nextDelegateKey = nextDelegateKey
        self.isRepeated = isRepeated
    }
}
