import CHeraldCurl
package import HeraldModel
package import HeraldRuntime

/// Sends callbacks with libcurl: a multi handle for each version of HTTP, one epoll, one thread.
///
/// The thread is the delivery loop's, which makes all calls except `wake`. Only this class calls libcurl, and never
/// from inside libcurl's callbacks, which only record what happened (`Callbacks.swift`). Files: this one contains the
/// loop, `CurlSender+Start` starts callbacks, `CurlSender+End` ends them,
/// `CurlSender+Connect` opens connections to hosts with several addresses, `Multi` and `TransferPool` own the handles,
/// `Payload` and `CallbackHeaders` make what is sent.
///
/// `@unchecked Sendable`: by the contract of `CallbackSender`, one thread uses it at a time. Other threads call only
/// `wake`, which uses nothing but the `Sendable` `Wakeup`, and `problems`, which reads the immutable configuration.
package final class CurlSender: CallbackSender, @unchecked Sendable {
    package struct Configuration: Sendable {
        /// For `user-agent: Herald/<version>`.
        package var version: String
        package var addressGuard: AddressGuard
        /// The CloudEvents `source` of events that have none: a URI reference.
        package var source = Configuration.defaultSource
        /// Identifies this service in CloudEvents handshakes, and to receivers that have accepted one: a host name.
        package var origin = Configuration.defaultOrigin
        /// Maximum number of open callbacks.
        package var capacity = 4096
        /// Maximum number of connections, including idle ones; each uses a descriptor. If this allows it, twice as many
        /// as there are handles are kept, because a new connection costs four times as much as a request on an open
        /// one.
        package var maxConnections = 2048
        /// Maximum number of bytes of the large bodies and headers that were made for open callbacks.
        package var maxRecipeBytes = 16 << 20
        /// Through which callbacks connect.
        package var proxies = ProxyRules()
        /// A file of trusted certificates that replaces the system's.
        package var certificateAuthorities: String?
        /// Called when this machine has no socket for a callback, with the reason: once a minute, on the sender's thread.
        package var reportLack: @Sendable (_ reason: String) -> Void = { _ in }

        package static let defaultSource = "/herald"
        package static let defaultOrigin = "herald"

        /// Whether a text can be the `source`.
        package static func isSource(_ text: String) -> Bool {
            (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }

        package init(version: String, addressGuard: AddressGuard) {
            self.version = version
            self.addressGuard = addressGuard
        }
    }

    package let capacity: Int
    let configuration: Configuration
    let clock: Clock
    let resolver: Resolver
    let userAgent: String

    let descriptors: Descriptors
    let connector: Connector
    let http1: Multi
    /// Made when the first delegate needs it.
    var http2: Multi?
    private let wakeup: Wakeup
    let replies: Mailbox<Resolver.Reply>

    var pool = TransferPool()
    var encoder: PayloadEncoder
    var targets: [DelegateKey: Target] = [:]
    /// Callbacks that wait for the address of their host.
    var lookups: [String: [WaitingCallback]] = [:]
    var nextLookupDeadline = Int64.max
    /// Targets that have requested a token.
    var awaitingTokens: [Target] = []
    var recipeBodies: RecipeBodies
    /// Outcomes that `poll` has not reported yet.
    var ended: [(token: Int, outcome: CallbackOutcome)] = []
    /// Number of callbacks that were started and not reported, except those in `ended`.
    var openCount = 0
    var isClosed = false
    package var fence: Int64 {
        get { gate.closesAt }
        set { gate.closesAt = newValue }
    }
    let gate = Gate()
    let openBodies = OpenBodies()
    var waitingTransfers = WaitingTransfers()
    /// Ready connections whose steps may cost much.
    private var expensive: [(descriptor: Int32, interest: Epoll.Interest)] = []
    /// How many of them were served, so that they take turns.
    private var expensiveServed = 0
    private var wasWoken = false
    /// Whether the connector has something to do.
    private var hasConnections = false
    private var sleptNanoseconds: Int64 = 0
    /// When a lack of sockets is reported again.
    private var nextLackReport = Int64.min

    /// - Parameters:
    ///   - resolver: shared by all senders of the process.
    ///   - clock: its `wall` dates the signatures. Timeouts use the machine's monotonic clock, as libcurl's do.
    package init(_ configuration: Configuration, resolver: Resolver, clock: Clock = .system) throws(CurlSenderError) {
        try CurlLibrary.prepare()
        self.configuration = configuration
        self.resolver = resolver
        self.clock = clock
        capacity = configuration.capacity
        userAgent = "Herald/\(configuration.version)"
        encoder = PayloadEncoder(source: configuration.source)
        recipeBodies = RecipeBodies(maxBytes: configuration.maxRecipeBytes)
        do {
            descriptors = try Descriptors()
            connector = try Connector()
            wakeup = try Wakeup()
            try descriptors.epoll.add(wakeup.descriptor, .read)
            try descriptors.epoll.add(connector.descriptor, .read)
        } catch {
            throw .system(error)
        }
        replies = Mailbox(wakeup: wakeup)
        http1 = try Multi(.http1, descriptors)
    }

    deinit {
        if !isClosed { close { _, _ in } }
    }

    package func wake() {
        wakeup.signal()
    }

    package func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        guard !isClosed else { return }
        var now = Self.now()
        let limit = nanoseconds.map { now.addingReportingOverflow(max($0, 0)) }
        let deadline = limit.map { $0.overflow ? .max : $0.partialValue } ?? .max
        wasWoken = false
        var count = 0
        repeat {
            if fence <= now { return }
            if timerAt <= now {
                http1.runTimer(now)
                http2?.runTimer(now)
                count += collect(finished)
            }
            count += handOut(finished)
            let isDone = count > 0 || !ended.isEmpty
            let nextDeadline = min(
                deadline, timerAt, nextLookupDeadline, connector.nextAt, openBodies.nextDeadline,
                waitingTransfers.nextAt)
            wait(isDone ? 0 : nextDeadline &- now, since: now)
            count += collect(finished)
            now = Self.now()
            count += endBodies(now, finished)
            count += passAgain(now, finished)
            if hasConnections || connector.nextAt <= now { runConnector(now) }
            if nextLookupDeadline <= now { expireLookups(now) }
        } while count == 0 && (!wasWoken || !ended.isEmpty) && now < deadline
    }

    private var timerAt: Int64 { min(http1.timerAt, http2?.timerAt ?? .max) }

    package func slept(asOf now: Int64) -> Int64 { sleptNanoseconds }

    /// Such a callback is in no list of attempts, and counts as no failure, so that operators need a report.
    /// - Parameter lack: see `CurlResult.lack`.
    func report(_ lack: CallbackOutcome.Verdict?, _ now: Int64) {
        guard case .failed(_, let reason)? = lack, now >= nextLackReport else { return }
        nextLackReport = now + 60_000_000_000
        configuration.reportLack(reason)
    }

    /// Sleeps for at most this many nanoseconds until a descriptor is ready, and then calls libcurl.
    private func wait(_ nanoseconds: Int64, since start: Int64) {
        // A deadline of `max` is later than the end of any process.
        let milliseconds: Int32 =
            nanoseconds <= 0 ? 0 : nanoseconds > .max / 2 ? -1 : Int32(clamping: (nanoseconds - 1) / 1_000_000 + 1)
        var isFirst = milliseconds != 0
        hasConnections = false
        var now = start
        descriptors.epoll.wait(milliseconds: milliseconds) { descriptor, interest in
            if isFirst {
                now = Self.now()
                sleptNanoseconds += now - start
            }
            isFirst = false
            // It stays ready for the next call.
            if gate.isClosed { return }
            if descriptor == wakeup.descriptor {
                wakeup.clear()
                wasWoken = true
            } else if descriptor == connector.descriptor {
                hasConnections = true
            } else if descriptors.isExpensive(descriptor) {
                expensive.append((descriptor, interest))
            } else {
                serve(descriptor, interest, now)
            }
        }
        serveExpensive(now)
        // No descriptor became ready.
        if isFirst { sleptNanoseconds += Self.now() - start }
        if wasWoken { takeReplies() }
    }

    private func serve(_ descriptor: Int32, _ interest: Epoll.Interest, _ now: Int64) {
        guard let multi = descriptors.waiting(for: descriptor).flatMap(multi) else { return }
        descriptors.serve(descriptor, now: now) {
            herald_multi_ready(
                multi.handle, descriptor, interest.contains(.read) ? 1 : 0, interest.contains(.write) ? 1 : 0,
                interest.isDisjoint(with: .error) ? 0 : 1)
        }
    }

    /// Serves the expensive connections after the others, in turns, and for a bounded time: the rest stays ready. So a
    /// hundred receivers that begin TLS at once, or send without end, delay a usual response by little.
    private func serveExpensive(_ now: Int64) {
        guard !expensive.isEmpty else { return }
        let begin = Self.now()
        var served = 0
        while served < expensive.count, !gate.isClosed, served == 0 || Self.now() - begin < Self.expensiveTime {
            let (descriptor, interest) = expensive[(expensiveServed + served) % expensive.count]
            serve(descriptor, interest, now)
            served += 1
        }
        expensiveServed += served
        expensive.removeAll(keepingCapacity: true)
    }

    func multi(_ kind: Multi.Kind) -> Multi? {
        switch kind {
        case .http1: http1
        case .http2: http2
        }
    }

    /// In nanoseconds: as long as ten usual responses, or one step of a TLS handshake, take.
    private static let expensiveTime: Int64 = 300_000

    static func now() -> Int64 { Clock.system.monotonic() }
}

/// The fence of a sender, which its transfers look at when they are about to send.
final class Gate {
    /// Nanoseconds of the monotonic clock; `max` for never.
    var closesAt = Int64.max
    /// Whether nothing may be sent now.
    var isClosed: Bool { closesAt < .max && closesAt <= CurlSender.now() }
}

package enum CurlSenderError: Error, CustomStringConvertible {
    case library(String)
    case system(SystemError)

    package var description: String {
        switch self {
        case .library(let reason): "libcurl can't be used: \(reason)."
        case .system(let error): "The HTTP sender can't start: \(error)."
        }
    }
}
