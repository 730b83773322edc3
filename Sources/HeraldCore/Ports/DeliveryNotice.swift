/// What a delegate has come to, as its delivery loop finds it. The writer decides what follows.
package struct DeliveryNotice: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// It fails as a whole, since `since` (milliseconds since 1970 UTC): only probes are sent.
        case failing(since: Int64, reason: String)
        /// A probe succeeded.
        case recovered
        /// Nothing is sent any more: it failed for too long, or its receiver asked for it.
        case disabled(reason: String)
        /// Its receiver answered 410.
        case gone
        /// Its lease may have ended: the writer looks at the clock and at what was renewed.
        case leaseEnded
        /// Its owner has shown that they want the callbacks at this address, and how many of them a minute at most.
        case verified(url: String, ratePerMinute: Int? = nil)
        /// They have not; `reason` says what came instead.
        case notVerified(reason: String)
        /// The schedule of this delivery is used up.
        case exhausted(
            event: LogPosition, eventID: String, eventType: String, attempts: Int, traceParent: String? = nil)
        /// So many events that it wanted fell off the end of the log before it was told of them.
        case fellBehind(events: Int)
    }

    package let delegate: DelegateKey
    package let kind: Kind

    package init(_ delegate: DelegateKey, _ kind: Kind) {
        self.delegate = delegate
        self.kind = kind
    }
}
