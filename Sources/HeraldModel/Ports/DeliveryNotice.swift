/// A notice of a delivery loop about a delegate. The writer decides about the consequences.
package struct DeliveryNotice: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// It is failing since `since` (milliseconds since 1970 UTC): only probes are sent.
        case failing(since: Int64, reason: String)
        /// A probe succeeded.
        case recovered
        /// Its receiver refuses an event type and accepts others.
        case refusing(type: String, reason: String)
        /// Nothing more is sent: it failed for too long, or its receiver requested it.
        case disabled(reason: String)
        /// Its receiver responded with 410.
        case gone
        /// Its lease may have ended: the writer checks the time and renewals.
        case leaseEnded
        /// Its owner has agreed to the callbacks at this address, with a limit per minute.
        case verified(url: String, ratePerMinute: Int? = nil)
        /// Its owner has not agreed; `reason` says what happened.
        case notVerified(reason: String)
        /// The schedule of this delivery is used up.
        case exhausted(
            event: LogPosition, eventID: String, eventType: String, attempts: Int, traceParent: String? = nil)
        /// The number of matching events that retention removed before they were sent.
        case fellBehind(events: Int, total: Int)
    }

    package let delegate: DelegateKey
    package let kind: Kind
    /// The address that it is about: it says nothing about another one. `nil` if it is not about an address.
    package let url: String?

    package init(_ delegate: DelegateKey, _ kind: Kind, url: String? = nil) {
        self.delegate = delegate
        self.kind = kind
        self.url = url
    }
}
