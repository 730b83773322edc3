import CCurl
public import Herald
public import Runtime

/// Sends callbacks by libcurl: one multi handle, one epoll, one thread.
///
/// The thread is the delivery loop's: it makes all calls but `wake`. libcurl is called by this class alone, and never
/// from inside its own callbacks, which only take notes (`Callbacks.swift`). Files: this one has the loop,
/// `CurlSender+Start` the way of a callback into libcurl, `CurlSender+End` the way out, `TransferPool` the handles.
///
/// `@unchecked Sendable`: one thread uses it at a time, which is the contract of `CallbackSender`; `wake`, the only
/// call from elsewhere, touches nothing but the `Wakeup`, which is `Sendable`.
public final class CurlSender: CallbackSender, @unchecked Sendable {
    public struct Configuration: Sendable {
        /// For `user-agent: Herald/<version>`.
        public var version: String
        public var addressGuard: AddressGuard
        /// How many callbacks may be open at once.
        public var capacity = 1024
        /// How many connections are kept, idle ones included: each is a descriptor. Twice as many as there are handles
        /// where this allows it, since a new connection costs four times as much as a request on an old one.
        public var maxConnections = 2048
        /// A file of trusted certificates in place of the system's.
        public var certificateAuthorities: String?

        public init(version: String, addressGuard: AddressGuard) {
            self.version = version
            self.addressGuard = addressGuard
        }
    }

    public let capacity: Int
    let configuration: Configuration
    let clock: Clock
    let resolver: Resolver
    let userAgent: String

    let multi: UnsafeMutableRawPointer
    let descriptors: Descriptors
    private let wakeup: Wakeup
    let replies: Mailbox<Resolver.Reply>

    var pool = TransferPool()
    var targets: [DelegateKey: Target] = [:]
    /// Callbacks that wait for the address of their host.
    var lookups: [String: [WaitingCallback]] = [:]
    var nextLookupDeadline = Int64.max
    /// Outcomes that `poll` has still to hand out.
    var ended: [(token: Int, outcome: CallbackOutcome)] = []
    /// Callbacks that were started and not handed out, those in `ended` excepted.
    var openCount = 0
    var isClosed = false
    /// When libcurl wants to be called, in nanoseconds of the monotonic clock; `max`: never.
    private var timerAt = Int64.max
    private var wasWoken = false

    /// - Parameters:
    ///   - resolver: shared by all senders of the process.
    ///   - clock: its `wall` dates the signatures. Waiting goes by the machine's monotonic clock, as libcurl's does.
    public init(_ configuration: Configuration, resolver: Resolver, clock: Clock = .system) throws(CurlSenderError) {
        try CurlLibrary.prepare()
        self.configuration = configuration
        self.resolver = resolver
        self.clock = clock
        capacity = configuration.capacity
        userAgent = "Herald/\(configuration.version)"
        do {
            descriptors = try Descriptors()
            wakeup = try Wakeup()
            try descriptors.epoll.add(wakeup.descriptor, .read)
        } catch {
            throw .system(error)
        }
        replies = Mailbox(wakeup: wakeup)
        guard let multi = curl_multi_init() else { throw .library("curl_multi_init failed") }
        self.multi = multi
        let own = Unmanaged.passUnretained(self).toOpaque()
        guard herald_multi_configure(multi, onSocket, onTimer, own) == 1 else {
            throw .library("an option of the multi handle is missing")
        }
    }

    deinit {
        if !isClosed { close { _, _ in } }
    }

    public func wake() {
        wakeup.signal()
    }

    public func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        guard !isClosed else { return }
        var now = Self.now()
        let limit = nanoseconds.map { now.addingReportingOverflow(max($0, 0)) }
        let deadline = limit.map { $0.overflow ? .max : $0.partialValue } ?? .max
        wasWoken = false
        var count = 0
        repeat {
            if timerAt <= now {
                timerAt = .max
                herald_multi_timeout(multi)
                count += collect(finished)
            }
            count += handOut(finished)
            let isDone = count > 0 || !ended.isEmpty
            wait(isDone ? 0 : min(deadline, timerAt, nextLookupDeadline) &- now)
            count += collect(finished)
            now = Self.now()
            if nextLookupDeadline <= now { expireLookups(now) }
        } while count == 0 && (!wasWoken || !ended.isEmpty) && now < deadline
    }

    /// Sleeps until something is ready, for that many nanoseconds at most, and tells libcurl.
    private func wait(_ nanoseconds: Int64) {
        // A deadline of `max` is further away than any process lives.
        let milliseconds: Int32 =
            nanoseconds <= 0 ? 0 : nanoseconds > .max / 2 ? -1 : Int32(clamping: (nanoseconds - 1) / 1_000_000 + 1)
        descriptors.epoll.wait(milliseconds: milliseconds) { descriptor, interest in
            if descriptor == wakeup.descriptor {
                wakeup.clear()
                wasWoken = true
            } else if descriptors.isWanted(descriptor) {
                herald_multi_ready(
                    multi, descriptor, interest.contains(.read) ? 1 : 0, interest.contains(.write) ? 1 : 0,
                    interest.isDisjoint(with: .error) ? 0 : 1)
            }
        }
        if wasWoken { takeReplies() }
    }

    /// What libcurl's timer callback says: in how many milliseconds it wants to be called, -1: not at all.
    func setTimer(milliseconds: Int) {
        timerAt =
            milliseconds < 0 ? .max : milliseconds == 0 ? 0 : Self.now() + Int64(milliseconds) * 1_000_000
    }

    static func now() -> Int64 { Clock.system.monotonic() }
}

public enum CurlSenderError: Error, CustomStringConvertible {
    case library(String)
    case system(SystemError)

    public var description: String {
        switch self {
        case .library(let reason): "libcurl can't be used: \(reason)."
        case .system(let error): "The HTTP sender can't start: \(error)."
        }
    }
}
