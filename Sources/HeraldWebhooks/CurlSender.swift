import CHeraldCurl
package import HeraldCore
package import HeraldRuntime

/// Sends callbacks by libcurl: a multi handle for each version of HTTP, one epoll, one thread.
///
/// The thread is the delivery loop's: it makes all calls but `wake`. libcurl is called by this class alone, and never
/// from inside its own callbacks, which only take notes (`Callbacks.swift`). Files: this one has the loop,
/// `CurlSender+Start` the way of a callback into libcurl, `CurlSender+End` the way out, `Multi` and `TransferPool` the
/// handles, `Payload` and `CallbackHeaders` what is sent.
///
/// `@unchecked Sendable`: one thread uses it at a time, which is the contract of `CallbackSender`; `wake`, the only
/// call from elsewhere but `problems`, touches nothing but the `Wakeup`, which is `Sendable`; `problems` reads the
/// configuration, which never changes.
package final class CurlSender: CallbackSender, @unchecked Sendable {
    package struct Configuration: Sendable {
        /// For `user-agent: Herald/<version>`.
        package var version: String
        package var addressGuard: AddressGuard
        /// The CloudEvents `source` of events that came without one: a URI reference.
        package var source = "/herald"
        /// Names this service in CloudEvents handshakes, and to the receivers that agreed: a host name.
        package var origin = "herald"
        /// The maximum number of open callbacks.
        package var capacity = 4096
        /// How many connections are kept, idle ones included: each is a descriptor. Twice as many as there are handles
        /// where this allows it, since a new connection costs four times as much as a request on an old one.
        package var maxConnections = 2048
        /// A file of trusted certificates in place of the system's.
        package var certificateAuthorities: String?

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
    let http1: Multi
    /// Made when the first delegate wants it.
    var http2: Multi?
    private let wakeup: Wakeup
    let replies: Mailbox<Resolver.Reply>

    var pool = TransferPool()
    var encoder: PayloadEncoder
    var targets: [DelegateKey: Target] = [:]
    /// Callbacks that wait for the address of their host.
    var lookups: [String: [WaitingCallback]] = [:]
    var nextLookupDeadline = Int64.max
    /// Outcomes that `poll` has still to hand out.
    var ended: [(token: Int, outcome: CallbackOutcome)] = []
    /// Callbacks that were started and not handed out, those in `ended` excepted.
    var openCount = 0
    var isClosed = false
    private var wasWoken = false
    private var sleptNanoseconds: Int64 = 0

    /// - Parameters:
    ///   - resolver: shared by all senders of the process.
    ///   - clock: its `wall` dates the signatures. Waiting goes by the machine's monotonic clock, as libcurl's does.
    package init(_ configuration: Configuration, resolver: Resolver, clock: Clock = .system) throws(CurlSenderError) {
        try CurlLibrary.prepare()
        self.configuration = configuration
        self.resolver = resolver
        self.clock = clock
        capacity = configuration.capacity
        userAgent = "Herald/\(configuration.version)"
        encoder = PayloadEncoder(source: configuration.source)
        do {
            descriptors = try Descriptors()
            wakeup = try Wakeup()
            try descriptors.epoll.add(wakeup.descriptor, .read)
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
            if timerAt <= now {
                http1.runTimer(now)
                http2?.runTimer(now)
                count += collect(finished)
            }
            count += handOut(finished)
            let isDone = count > 0 || !ended.isEmpty
            wait(isDone ? 0 : min(deadline, timerAt, nextLookupDeadline) &- now, since: now)
            count += collect(finished)
            now = Self.now()
            if nextLookupDeadline <= now { expireLookups(now) }
        } while count == 0 && (!wasWoken || !ended.isEmpty) && now < deadline
    }

    private var timerAt: Int64 { min(http1.timerAt, http2?.timerAt ?? .max) }

    package func slept(asOf now: Int64) -> Int64 { sleptNanoseconds }

    /// Sleeps until something is ready, for that many nanoseconds at most, and tells libcurl.
    private func wait(_ nanoseconds: Int64, since start: Int64) {
        // A deadline of `max` is further away than any process lives.
        let milliseconds: Int32 =
            nanoseconds <= 0 ? 0 : nanoseconds > .max / 2 ? -1 : Int32(clamping: (nanoseconds - 1) / 1_000_000 + 1)
        var isFirst = milliseconds != 0
        descriptors.epoll.wait(milliseconds: milliseconds) { descriptor, interest in
            if isFirst { sleptNanoseconds += Self.now() - start }
            isFirst = false
            if descriptor == wakeup.descriptor {
                wakeup.clear()
                wasWoken = true
            } else if let multi = descriptors.waiting(for: descriptor).flatMap(multi) {
                herald_multi_ready(
                    multi.handle, descriptor, interest.contains(.read) ? 1 : 0, interest.contains(.write) ? 1 : 0,
                    interest.isDisjoint(with: .error) ? 0 : 1)
            }
        }
        // Nothing became ready.
        if isFirst { sleptNanoseconds += Self.now() - start }
        if wasWoken { takeReplies() }
    }

    func multi(_ kind: Multi.Kind) -> Multi? {
        switch kind {
        case .http1: http1
        case .http2: http2
        }
    }

    static func now() -> Int64 { Clock.system.monotonic() }
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
