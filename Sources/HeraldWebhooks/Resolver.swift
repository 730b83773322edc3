import Glibc
import HeraldModel
package import HeraldRuntime
import Synchronization

/// Resolves host names on its own thread, because libcurl's resolver can block a whole delivery loop.
///
/// One per process, shared by all senders. The thread, which starts with the first name, runs hundreds of lookups at
/// once: a name without a response delays no other. `NameTable` has the rules.
///
/// One lock guards the table and is held for a few instructions.
package final class Resolver: Sendable {
    /// The result of a lookup.
    package enum Answer: Equatable, Sendable {
        /// The addresses, in the order in which to try them.
        case addresses([IPAddress])
        /// The name has no address; the reason, for operators.
        case failed(String)
        /// The name servers failed or did not respond; addresses of an earlier time stay valid.
        case unavailable(String)
        /// There was no query, because this machine lacks descriptors or memory; the reason. That says nothing about the name.
        case lacking(String)
    }

    /// The result of a lookup, posted to the mailbox of the caller.
    struct Reply: Sendable {
        let host: String
        let entry: Entry
    }

    struct Entry: Sendable {
        var answer: Answer
        /// Nanoseconds of the monotonic clock.
        var expiresAt: Int64
    }

    private struct State {
        var table: NameTable
        var hasThread = false
        var isClosed = false
        /// Wakes the thread.
        var wakeup: Wakeup?
    }

    private let clock: Clock
    private let makeLookups: @Sendable () -> any NameLookups
    private let state: Mutex<State>

    /// - Parameters:
    ///   - maxOpen: maximum number of concurrent lookups.
    ///   - maxWaiting: maximum number of names that wait for one; further lookups fail at once.
    ///   - makeLookups: called once, on the resolver's thread.
    package init(
        maxOpen: Int = 512, maxWaiting: Int = 4096, clock: Clock = .system,
        makeLookups: @escaping @Sendable () -> any NameLookups = { DNSLookups() }
    ) {
        self.clock = clock
        self.makeLookups = makeLookups
        state = Mutex(State(table: NameTable(maxOpen: maxOpen, maxWaiting: maxWaiting)))
    }

    /// Ends the thread. Results that are not known by then are not posted.
    package func close() {
        let wakeup = state.withLock { state in
            state.isClosed = true
            return state.wakeup
        }
        wakeup?.signal()
    }

    /// The known result; if there is none, `nil`, and the result will be posted to `mailbox`. Any thread.
    /// - Parameter app: whose share of the lookups it uses.
    func resolve(_ host: String, for app: AppKey, replyTo mailbox: Mailbox<Reply>) -> Entry? {
        let now = clock.monotonic()
        let (entry, wakeup, mustStart) = state.withLock { state -> (Entry?, Wakeup?, Bool) in
            if state.isClosed {
                return (Entry(answer: .unavailable("the server stops"), expiresAt: now), nil, false)
            }
            let entry = state.table.resolve(host, app, mailbox, now)
            defer { state.hasThread = true }
            return (entry, state.wakeup, !state.hasThread)
        }
        wakeup?.signal()
        if mustStart, let failure = startThread(now) { return entry ?? failure }
        return entry
    }

    /// Returns `nil`, or a failure if the system cannot start a thread.
    private func startThread(_ now: Int64) -> Entry? {
        do {
            let wakeup = try Wakeup()
            try Thread(name: "resolver") { [self] in run(wakeup) }.detach()
            // The thread looks at the table before it sleeps for the first time.
            state.withLock { $0.wakeup = wakeup }
            wakeup.signal()
            return nil
        } catch {
            let answer = Answer.lacking("no thread for the lookup: \(error)")
            let deliveries = state.withLock { state in
                state.hasThread = false
                return state.table.begin(now).flatMap { state.table.end($0, answer, now) }
            }
            post(deliveries)
            return Entry(answer: answer, expiresAt: now)
        }
    }

    /// The body of the thread, until `close`.
    private func run(_ wakeup: Wakeup) {
        Self.ignoreBrokenPipes()
        let lookups = makeLookups()
        while true {
            let (hosts, nextAt, isClosed) = state.withLock { state -> ([String], Int64, Bool) in
                (state.table.begin(clock.monotonic()), state.table.nextAt, state.isClosed)
            }
            if isClosed { return }
            for host in hosts { lookups.begin(host) }
            let wait = nextAt == .max ? -1 : Int32(clamping: max(0, nextAt - clock.monotonic() + 999_999) / 1_000_000)
            let ended = lookups.wait(for: wakeup, milliseconds: wait)
            let now = clock.monotonic()
            let deliveries = state.withLock { state in
                ended.flatMap { state.table.end($0.host, $0.answer, now) } + state.table.expire(now)
            }
            post(deliveries)
        }
    }

    private func post(_ deliveries: [NameTable.Delivery]) {
        for delivery in deliveries { delivery.mailbox.post(delivery.reply) }
    }

    /// c-ares writes to name servers over TCP without `MSG_NOSIGNAL`.
    private static func ignoreBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

/// Looks up names, many at once. Used by the resolver's thread alone.
package protocol NameLookups: AnyObject {
    /// Must not wait.
    func begin(_ host: String)

    /// Sleeps until a lookup has ended, `wakeup` was signalled, or the time is up, and clears the signals.
    /// - Parameter milliseconds: negative for no limit.
    /// - Returns: the lookups that have ended, with their results.
    func wait(for wakeup: Wakeup, milliseconds: Int32) -> [(host: String, answer: Resolver.Answer)]
}
