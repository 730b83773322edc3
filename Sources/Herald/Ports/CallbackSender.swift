/// One HTTP request that a delivery loop wants sent.
public struct Callback: Sendable {
    /// Chosen by the loop, handed back with the outcome.
    public let token: Int
    public let delegate: WebhookDelegate
    public let event: Event
    /// 1 for the first try.
    public let attempt: Int

    public init(token: Int, delegate: WebhookDelegate, event: Event, attempt: Int) {
        self.token = token
        self.delegate = delegate
        self.event = event
        self.attempt = attempt
    }
}

/// How an attempt ended.
public struct CallbackOutcome: Sendable {
    public enum Verdict: Equatable, Sendable {
        /// A status line arrived. `retryAfter`: seconds from now that the receiver asked for, 0–86,400.
        case answered(status: Int, retryAfter: Int?)
        /// No status line: why, in words an operator understands, without secrets.
        case failed(CallbackFailure, detail: String)
    }

    public let verdict: Verdict
    /// Microseconds from the start of the attempt to its end.
    public let duration: Int64
    /// The start of the answer's body, at most 1 KiB.
    public let excerpt: [UInt8]

    public init(verdict: Verdict, duration: Int64, excerpt: [UInt8] = []) {
        self.verdict = verdict
        self.duration = duration
        self.excerpt = excerpt
    }

    /// 2xx, and nothing else.
    public var isSuccess: Bool {
        if case .answered(let status, _) = verdict { return (200...299).contains(status) }
        return false
    }
}

/// Why there was no answer. The raw values are stable: they are stored, and shown as `error` of an attempt.
public enum CallbackFailure: String, Sendable, CaseIterable {
    case timeout
    case connect = "connection_failed"
    case name = "name_not_resolved"
    /// The address guard said no; the detail names the rule.
    case refused = "address_refused"
    case tls = "tls_failed"
    /// The connection broke, or what came was not HTTP.
    case protocolError = "protocol_error"
    /// The loop stopped before an answer came. Not counted as an attempt.
    case stopped
}

/// The port through which a delivery loop speaks HTTP: one sender for each loop.
///
/// All calls but `wake` come from the loop's own thread, and none of them but `poll` waits.
public protocol CallbackSender: AnyObject, Sendable {
    /// How many callbacks may be open at once.
    var capacity: Int { get }

    /// Starts an attempt. Its outcome is handed out by a later `poll`, also when it fails at once.
    func start(_ callback: Callback)

    /// Sends and receives until something finished, `wake` was called, or the time is up.
    /// - Parameters:
    ///   - nanoseconds: how long to wait at most; 0: only what is ready now; `nil`: without limit.
    ///   - finished: called for each ended attempt, before `poll` returns; it may call `start`.
    func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)

    /// Ends a running or the next `poll` early. Any thread.
    func wake()

    /// Ends every open attempt with `.stopped` (handed to `finished`) and frees what the sender holds. Called last.
    func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void)
}
