import Glibc
package import HeraldRuntime
import Synchronization

/// Resolves host names on its own threads, because libcurl's resolver can block a whole delivery loop.
///
/// One per process, shared by all senders. At most four lookups run at once, one per host. Addresses are cached for 30
/// s, failures for 5 s, and the number of names that wait for a thread is bounded. A lookup that hangs occupies its
/// thread until the system gives up, so callers must have their own deadline.
///
/// One lock guards its state and is held for a few instructions.
package final class Resolver: Sendable {
    /// The result of a lookup.
    package enum Answer: Equatable, Sendable {
        /// At least one address, in the order in which to try them.
        case addresses([IPAddress])
        /// The reason for the failure, for operators.
        case failed(String)
    }

    /// Blocks until the lookup ends. Runs on the resolver's threads.
    package typealias Lookup = @Sendable (_ host: String) -> Answer

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
        var cache: [String: Entry] = [:]
        /// The mailboxes that wait for each host.
        var asked: [String: [Mailbox<Reply>]] = [:]
        /// Hosts in `asked` that no thread is looking up yet, oldest first.
        var queue = FIFO<String>()
        /// Sleeping threads.
        var idle: [Wakeup] = []
        var threads = 0
        var isClosed = false
    }

    static let maxAddresses = 16
    private static let answerLife: Int64 = 30_000_000_000
    private static let failureLife: Int64 = 5_000_000_000
    private static let maxCached = 4096

    private let maxThreads: Int
    private let maxWaiting: Int
    private let clock: Clock
    private let lookup: Lookup
    private let state = Mutex(State())

    /// - Parameters:
    ///   - threads: maximum number of concurrent lookups. The threads start on demand.
    ///   - maxWaiting: maximum number of hosts that wait for a thread; further lookups fail at once.
    package init(
        threads: Int = 4, maxWaiting: Int = 1024, clock: Clock = .system, lookup: @escaping Lookup = systemLookup
    ) {
        self.maxThreads = threads
        self.maxWaiting = maxWaiting
        self.clock = clock
        self.lookup = lookup
    }

    /// Ends the sleeping threads now, the others after their lookup. Results may still be posted.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            state.queue.removeAll()
            defer { state.idle = [] }
            return state.idle
        }
        for wakeup in idle { wakeup.signal() }
    }

    /// The cached result; if there is none, `nil`, and the result will be posted to `mailbox`. Any thread.
    func resolve(_ host: String, replyTo mailbox: Mailbox<Reply>) -> Entry? {
        let now = clock.monotonic()
        enum Step {
            case known(Entry)
            case waiting
            case wake(Wakeup)
            case start
        }
        let step: Step = state.withLock { state in
            if let entry = state.cache[host], entry.expiresAt > now { return .known(entry) }
            if state.asked[host] != nil {
                state.asked[host]?.append(mailbox)
                return .waiting
            }
            guard state.queue.count < maxWaiting, !state.isClosed else {
                return .known(Entry(answer: .failed("too many names wait to be looked up"), expiresAt: now))
            }
            state.asked[host] = [mailbox]
            state.queue.append(host)
            if let wakeup = state.idle.popLast() { return .wake(wakeup) }
            guard state.threads < maxThreads else { return .waiting }
            state.threads += 1
            return .start
        }
        switch step {
        case .known(let entry): return entry
        case .waiting: return nil
        case .wake(let wakeup): wakeup.signal()
        case .start: return startThread(for: host, now)
        }
        return nil
    }

    /// Returns `nil`, or a failure if the system cannot start a thread.
    private func startThread(for host: String, _ now: Int64) -> Entry? {
        do {
            let wakeup = try Wakeup()
            _ = try Thread(name: "resolver") { [self] in run(wakeup) }
            return nil
        } catch {
            let entry = Entry(answer: .failed("no thread for the lookup: \(error)"), expiresAt: now)
            let waiters = state.withLock { state in
                state.threads -= 1
                state.queue.removeAll { $0 == host }
                return state.asked.removeValue(forKey: host) ?? []
            }
            // Other loops may have requested the same host since.
            for waiter in waiters.dropFirst() { waiter.post(Reply(host: host, entry: entry)) }
            return entry
        }
    }

    /// The body of a thread: looks up hosts while any are queued, then sleeps on `wakeup`.
    private func run(_ wakeup: Wakeup) {
        // The thread is not joined: a lookup may hang for longer than the process should run.
        pthread_detach(pthread_self())
        while true {
            enum Step {
                case work(String)
                case sleep, end
            }
            let step: Step = state.withLock { state in
                if let host = state.queue.popFirst() { return .work(host) }
                if state.isClosed { return .end }
                state.idle.append(wakeup)
                return .sleep
            }
            switch step {
            case .work(let host): answer(host)
            case .sleep: wakeup.wait()
            case .end: return
            }
        }
    }

    private func answer(_ host: String) {
        var answer = lookup(host)
        if case .addresses(let addresses) = answer {
            answer =
                addresses.isEmpty
                ? .failed("the name has no address") : .addresses(Array(addresses.prefix(Self.maxAddresses)))
        }
        let now = clock.monotonic()
        let life = if case .addresses = answer { Self.answerLife } else { Self.failureLife }
        let entry = Entry(answer: answer, expiresAt: now + life)
        let waiters = state.withLock { state in
            if state.cache.count >= Self.maxCached {
                state.cache = state.cache.filter { $0.value.expiresAt > now }
                if state.cache.count >= Self.maxCached { state.cache = [:] }
            }
            state.cache[host] = entry
            return state.asked.removeValue(forKey: host) ?? []
        }
        for waiter in waiters { waiter.post(Reply(host: host, entry: entry)) }
    }
}
