/// One HTTP request that a delivery loop wants sent.
package struct Callback: Sendable {
    package enum Purpose: Equatable, Sendable {
        /// An event of the log. `isReplay`: it was asked for again, and may have been delivered before.
        case delivery(isReplay: Bool)
        /// A call outside the log: somebody tries the delegate out, or its address has to send the challenge back.
        case test
        /// `OPTIONS` instead of `POST`: asks for the permission to send, as the CloudEvents webhook specification has it.
        case handshake
    }

    /// Chosen by the loop, handed back with the outcome.
    package let token: Int
    package let delegate: WebhookDelegate
    package let event: Event
    /// 1 for the first try.
    package let attempt: Int
    package let purpose: Purpose

    package init(
        token: Int, delegate: WebhookDelegate, event: Event, attempt: Int,
        purpose: Purpose = .delivery(isReplay: false)
    ) {
        self.token = token
        self.delegate = delegate
        self.event = event
        self.attempt = attempt
        self.purpose = purpose
    }
}

/// How an attempt ended.
package struct CallbackOutcome: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// A status line arrived. `retryAfter`: seconds from now that the receiver asked for, 0–86,400.
        case answered(status: Int, retryAfter: Int?)
        /// No status line: why, in words an operator understands, without secrets.
        case failed(CallbackFailure, detail: String)
    }

    /// What a receiver asks for with the response header `webhook-delivery`.
    package enum Control: String, Sendable {
        /// Send nothing more.
        case disable
        /// Don't try this delivery again.
        case abortMessage = "abort-message"
    }

    /// What the receiver allows in answer to a handshake.
    package struct Permission: Equatable, Sendable {
        /// `WebHook-Allowed-Origin`: `*`, or the origin that asked. A sender reports no permission for anybody else.
        package let origin: String
        /// `WebHook-Allowed-Rate`: requests a minute; `nil`: no limit was named.
        package let rate: Int?
        package init(origin: String, rate: Int?) {
            self.origin = origin
            self.rate = rate
        }
    }

    package let verdict: Verdict
    /// Microseconds from the start of the attempt to its end.
    package let duration: Int64
    /// The start of the answer's body (decompressed), at most 1 KiB.
    package let excerpt: [UInt8]
    package let transport: TransportRecord
    package var control: Control?
    package var permission: Permission?

    package init(
        verdict: Verdict, duration: Int64, excerpt: [UInt8] = [], transport: TransportRecord = TransportRecord()
    ) {
        self.verdict = verdict
        self.duration = duration
        self.excerpt = excerpt
        self.transport = transport
    }

    /// 2xx, and nothing else.
    package var isSuccess: Bool {
        if case .answered(let status, _) = verdict { return (200...299).contains(status) }
        return false
    }
}

/// How an attempt went over the network. 0: did not happen (a connection that was open already has no lookup, no
/// connect and no TLS), or not known.
package struct TransportRecord: Equatable, Sendable {
    /// Microseconds that each phase took: looking up the name, connecting, TLS, and from there to the first byte.
    package var lookup: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
    /// The connection had served an earlier request.
    package var isReused = false
    /// `address:port` that was talked to; empty: none was.
    package var peer = ""
    /// Bytes of the request's body.
    package var bytesSent: Int64 = 0
    /// Bytes of the answer's body, decompressed.
    package var bytesReceived: Int64 = 0
    package init() {}
}

/// Why there was no answer. The raw values are stable: they are stored, and shown as `error` of an attempt.
package enum CallbackFailure: String, Sendable, CaseIterable {
    case timeout
    case connect = "connection_failed"
    case nameResolution = "name_not_resolved"
    /// The address guard said no; the detail names the rule.
    case addressBlocked = "address_refused"
    case tls = "tls_failed"
    /// The connection broke, or what came was not HTTP.
    case protocolError = "protocol_error"
    /// The loop stopped before an answer came. Not counted as an attempt.
    case stopped
}

/// The port through which a delivery loop speaks HTTP: one sender for each loop.
///
/// All calls but `wake` and `problems` come from the loop's own thread, and none of them but `poll` waits.
package protocol CallbackSender: AnyObject, Sendable {
    /// How many callbacks may be open at once.
    var capacity: Int { get }

    /// Starts an attempt. Its outcome is handed out by a later `poll`, also when it fails at once.
    func start(_ callback: Callback)

    /// Sends and receives until something finished, `wake` was called, or the time is up.
    /// - Parameters:
    ///   - nanoseconds: how long to wait at most; 0: only what is ready now; `nil`: without limit.
    ///   - finished: called for each ended attempt, before `poll` returns; it may call `start`.
    func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)

    /// For how long `poll` has had nothing to do and slept so far, in nanoseconds from an arbitrary start: what tells
    /// receivers that are waited for from a sender that is busy. One that doesn't know goes by the clock.
    /// - Parameter now: monotonic nanoseconds.
    func slept(asOf now: Int64) -> Int64

    /// Ends a running or the next `poll` early. Any thread.
    func wake()

    /// What this sender says of a webhook that is to be registered or changed: everything that is wrong, by the names of the
    /// HTTP API. May put the URL into the form in which it is stored and compared. Any thread; must not wait.
    func problems(of settings: inout WebhookSettings) -> [FieldError]

    /// Ends every open attempt with `.stopped` (handed to `finished`) and frees what the sender holds. Called last.
    func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)
}

extension CallbackSender {
    package func slept(asOf now: Int64) -> Int64 { now }

    /// Any URL that is one of something.
    package func problems(of settings: inout WebhookSettings) -> [FieldError] {
        (1...2_048).contains(settings.url.utf8.count) ? [] : [FieldError("/url", "must have 1 to 2048 bytes")]
    }
}
