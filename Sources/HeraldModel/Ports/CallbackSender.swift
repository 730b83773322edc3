import HeraldRuntime

/// One HTTP request of a delivery loop.
package struct Callback: Sendable {
    package enum Purpose: Equatable, Sendable {
        /// An event of the log. `isReplay`: a replay or redelivery, which may have been delivered before.
        case delivery(isReplay: Bool)
        /// A call outside the log: a test call, or the challenge of a verification.
        case test
        /// A request of the sender's own, for a token of a delegate. The loop has no part in it.
        case token
        /// `OPTIONS` instead of `POST`: requests the permission to send, according to the CloudEvents webhook
        /// specification.
        case handshake
    }

    /// Chosen by the loop, returned with the outcome.
    package let token: Int
    package let delegate: WebhookDelegate
    package let event: Event
    /// From 1.
    package let attempt: Int
    package let purpose: Purpose
    /// It must not use an open connection. No call outside the log does: it cannot be made again.
    package let isFresh: Bool
    /// The span of the attempt, which the request names instead of the span of the event; `nil` without one.
    package let span: OpenSpan?

    package init(
        token: Int, delegate: WebhookDelegate, event: Event, attempt: Int,
        purpose: Purpose = .delivery(isReplay: false), isFresh: Bool = false, span: OpenSpan? = nil
    ) {
        self.token = token
        self.delegate = delegate
        self.event = event
        self.attempt = attempt
        self.purpose = purpose
        self.span = span
        switch purpose {
        case .delivery: self.isFresh = isFresh
        case .test, .handshake: self.isFresh = true
        case .token: self.isFresh = false
        }
    }
}

/// How an attempt ended.
package struct CallbackOutcome: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// There was a response. `retryAfter`: seconds from now that the receiver requested, 0–86,400.
        case answered(status: Int, retryAfter: Int?)
        /// No response; a reason for operators, without secrets.
        case failed(CallbackFailure, detail: String)

        /// As attempts are recorded: the status of the response, or the failure and its detail.
        package var parts: (status: Int?, failure: CallbackFailure?, detail: String) {
            switch self {
            case .answered(let status, _): (status, nil, "")
            case .failed(let failure, let detail): (nil, failure, detail)
            }
        }
    }

    /// A command of the receiver in the response header `webhook-delivery`.
    package enum Control: String, Sendable {
        /// Send nothing more.
        case disable
        /// Do not retry this delivery.
        case abortMessage = "abort-message"
    }

    /// The receiver's permission in response to a handshake.
    package struct Permission: Equatable, Sendable {
        /// `WebHook-Allowed-Origin`: `*`, or the requested origin. A permission for other origins is not reported.
        package let origin: String
        /// `WebHook-Allowed-Rate`: requests per minute; `nil` for no limit.
        package let rate: Int?
        package init(origin: String, rate: Int?) {
            self.origin = origin
            self.rate = rate
        }
    }

    package let verdict: Verdict
    /// Microseconds from the start of the attempt to its end.
    package let duration: Int64
    /// The start of the response body (decompressed), at most 1 KiB.
    package let excerpt: [UInt8]
    package let transport: TransportRecord
    package var control: Control?
    package var permission: Permission?
    /// A connection or a token of earlier requests was of no use any more: the connection ended before the first byte of the
    /// response, or the receiver refused the token. That is no evidence about the receiver: the next attempt is made at
    /// once, over a new connection. Only without `Callback.isFresh`.
    package var isStale = false

    package init(
        verdict: Verdict, duration: Int64, excerpt: [UInt8] = [], transport: TransportRecord = TransportRecord()
    ) {
        self.verdict = verdict
        self.duration = duration
        self.excerpt = excerpt
        self.transport = transport
    }

    /// No request could be made of the event. Trying again can't help, and the receiver has no part in it.
    package var isRequestNotMade: Bool {
        if case .failed(.requestNotMade, _) = verdict { true } else { false }
    }

    /// Whether the outcome says something about the receiver.
    package var isEvidence: Bool { !isStale && !isRequestNotMade }

    /// 2xx, and nothing else.
    package var isSuccess: Bool {
        if case .answered(let status, _) = verdict { (200...299).contains(status) } else { false }
    }
}

/// The network data of an attempt. 0: did not happen (on a reused connection there is no lookup, no connect and no
/// TLS), or unknown.
package struct TransportRecord: Equatable, Sendable {
    /// The duration of each phase in microseconds: resolving the name, connecting, TLS, and from there to the first
    /// byte.
    package var lookup: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
    /// The connection was used for an earlier request.
    package var isReused = false
    /// The `address:port` of the connection; empty if there was none.
    package var peer = ""
    /// The size of the request body.
    package var bytesSent: Int64 = 0
    /// The size of the response body, decompressed.
    package var bytesReceived: Int64 = 0
    package init() {}
}

/// The request that would be sent.
package enum RequestPreview: Sendable {
    case request(Request)
    /// The reason, with its pointer in the settings.
    case notMade(FieldError)

    package struct Request: Sendable {
        package let method: String
        package let url: String
        /// In the order in which they are sent, without those that HTTP itself needs. Secrets are hidden.
        package let headers: [KeyValue]
        package let body: [UInt8]

        package init(method: String, url: String, headers: [KeyValue], body: [UInt8]) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }
}

/// Why there was no response. The raw values are stable: they are stored, and are the `error` of an attempt.
public enum CallbackFailure: String, Sendable, CaseIterable {
    /// There was no response within the time limit.
    case timeout
    /// The connection was refused, or could not be opened.
    case connect = "connection_failed"
    /// The name of the host has no address.
    case nameResolution = "name_not_resolved"
    /// The address guard refused the address; the detail names the rule.
    case addressBlocked = "address_refused"
    /// TLS could not be negotiated, or the certificate is not valid.
    case tls = "tls_failed"
    /// The connection broke, or the response was not HTTP.
    case protocolError = "protocol_error"
    /// The recipe of the delegate made no request of this event; the detail has the pointer of the reason. Nothing was sent, and
    /// nothing will be.
    case requestNotMade = "request_not_made"
    /// The response was 2xx, and the condition `success` of the delegate's recipe refused it.
    case responseRefused = "response_refused"
    /// The authorization server issued no token for the request.
    case tokenNotIssued = "token_not_issued"
    /// A consumer pulled the event, and reported that it failed; the detail has its reason.
    case refused
    /// A consumer pulled the event, and did not acknowledge it in time.
    case leaseExpired = "lease_expired"
    /// The loop stopped before a response. Does not count as an attempt.
    case stopped

    /// The raw value as words.
    package var words: String { rawValue.replaced("_", by: " ") }
}

/// The port for the HTTP requests of a delivery loop: one sender for each loop.
///
/// All calls except `wake` and `problems` are made on the loop's own thread, and only `poll` waits.
package protocol CallbackSender: AnyObject, Sendable {
    /// The maximum number of open callbacks.
    var capacity: Int { get }

    /// Starts an attempt. Its outcome is returned by a later `poll`, even if it fails at once.
    func start(_ callback: Callback)

    /// Ends the open attempts for these shards with `.stopped`, in a later `poll`.
    func abort(_ shards: Shards)

    /// From this time on `poll` neither sends nor receives, and returns, because the process may have been suspended: other nodes
    /// may deliver. Monotonic nanoseconds.
    var fence: Int64 { get set }

    /// Sends and receives until an attempt has finished, `wake` was called, or the time is up.
    /// - Parameters:
    ///   - nanoseconds: the maximum time to wait; 0 to only handle what is ready; `nil` for no limit.
    ///   - finished: called for each finished attempt, before `poll` returns; it may call `start`.
    func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)

    /// The total time that `poll` has slept without work so far, in nanoseconds from an arbitrary start. It
    /// distinguishes slow receivers from a busy sender. A sender that does not measure it returns the clock.
    /// - Parameter now: monotonic nanoseconds.
    func slept(asOf now: Int64) -> Int64

    /// Ends the current or the next `poll` early. Any thread.
    func wake()

    /// The sender's validation of a webhook that is registered or changed: all errors, with the field names of the HTTP
    /// API. May normalize the URL. Any thread; must not wait.
    func problems(of settings: inout WebhookSettings) -> [FieldError]

    /// The request that a callback would be; it is not sent. Any thread; must not wait.
    func preview(_ callback: Callback) -> RequestPreview

    /// Ends every open attempt with `.stopped` (passed to `finished`) and releases the sender's resources. Must be the
    /// last call.
    func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)
}
