import Glibc
import HeraldModel
import HeraldRuntime
import Synchronization

/// The session that hears what other processes have committed, and notifies them of what this one has. It has a thread of its own.
///
/// A commit with NOTIFY holds a lock of the whole server until it is flushed. So there is none in a transaction that writes: a
/// notification is a transaction of its own, which waits for no disk, after the flush; and at most one in `interval`. It names the
/// ends that are flushed, so that its receivers need not flush, and read at most once in `interval`. Lost notifications are replaced
/// by polling.
final class Listener: Sendable {
    private struct State {
        var notify: (@Sendable () -> Bool)?
        /// Something was flushed of which others have not been notified.
        var hasNews = false
        var isClosed = false
        /// The thread is there, or is being made.
        var hasThread = false
        /// Wakes the thread.
        var wakeup: Wakeup?
    }

    private let database: Database
    private let durable: DurableEnds
    private let state = Mutex(State())
    private let makeWakeup: @Sendable () throws(SystemError) -> Wakeup

    /// Nanoseconds between two exchanges of notifications.
    private static let interval: Int64 = 5_000_000
    /// If no delegate of this process waits for events.
    private static let idleInterval: Int64 = 20_000_000
    /// How long to wait before the session is opened again, in milliseconds: doubled each time.
    private static let pauses: ClosedRange<Int32> = 100...5_000

    private static let listen = Request(Statement("LISTEN herald"))
    private static let notification = Statement("SELECT pg_notify('herald', $1::text)")

    init(
        _ database: Database, _ durable: DurableEnds,
        makeWakeup: @escaping @Sendable () throws(SystemError) -> Wakeup = { () throws(SystemError) in try Wakeup() }
    ) {
        self.database = database
        self.durable = durable
        self.makeWakeup = makeWakeup
    }

    /// Begins.
    /// - Parameter notify: called when others have committed something. Returns whether a delegate waits for it.
    func start(_ notify: @escaping @Sendable () -> Bool) {
        state.withLock { $0.notify = notify }
        startIfDue()
    }

    /// Begins if there was no descriptor or no thread for it before. Until it has begun, others are followed by looking.
    /// Any thread.
    func startIfDue() {
        let isDue = state.withLock { state in
            if state.notify == nil || state.hasThread { return false }
            state.hasThread = true
            return true
        }
        guard isDue else { return }
        do throws(SystemError) {
            let wakeup = try makeWakeup()
            // Before the thread, which must not miss a signal.
            state.withLock { $0.wakeup = wakeup }
            let thread = try Thread(name: "store-listener") { [self] in run(wakeup) }
            // It may wait for a server when the store is closed.
            thread.detach()
        } catch {
            state.withLock { $0.hasThread = false }
        }
    }

    /// Notifies others soon. Any thread.
    func announce() {
        let wakeup = state.withLock { state in
            defer { state.hasNews = true }
            return state.notify != nil && !state.hasNews ? state.wakeup : nil
        }
        wakeup?.signal()
    }

    func close() {
        let wakeup = state.withLock { state in
            state.isClosed = true
            state.notify = nil
            return state.wakeup
        }
        wakeup?.signal()
    }

    // MARK: The thread

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    /// - Returns: when to listen again.
    @discardableResult
    private func notify() -> Int64 {
        let isAwaited = state.withLock { $0.notify }?() ?? false
        return Clock.system.monotonic() + (isAwaited ? Self.interval : Self.idleInterval)
    }

    private func run(_ wakeup: Wakeup) {
        var pause = Self.pauses.lowerBound
        while !isClosed {
            if let session = try? database.open(.listen), (try? session.run(Self.listen, seconds: 3)) != nil {
                pause = Self.pauses.lowerBound
                // What came before is not heard of.
                notify()
                try? follow(session, wakeup)
            }
            if isClosed { return }
            wakeup.wait(milliseconds: pause)
            pause = min(2 * pause, Self.pauses.upperBound)
        }
    }

    /// Listens and notifies until the session is lost, or the store closed. It rests after each notification that it has sent or
    /// received: those that come in the meantime share the next exchange.
    private func follow(_ session: PostgresSession, _ wakeup: Wakeup) throws(PostgresError) {
        var (nextSent, nextHeard): (Int64, Int64) = (0, 0)
        while !isClosed {
            let now = Clock.system.monotonic()
            if now >= nextSent, try send(session) { nextSent = now + Self.interval }
            // After it: the response to a statement can bring notifications, for which the socket is not readable any more.
            if now >= nextHeard, try hear(session) { nextHeard = notify() }
            var entries = [pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)]
            var next = Int64.max
            if now < nextHeard {
                next = nextHeard
            } else {
                entries.append(pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0))
            }
            // Nothing else wakes this thread for news that it has left.
            if state.withLock({ $0.hasNews }) { next = min(next, nextSent) }
            _ = poll(&entries, nfds_t(entries.count), Self.milliseconds(until: next))
            wakeup.clear()
        }
        session.close()
    }

    /// - Returns: for `poll`: 0 if the time is over, and -1 if there is none.
    private static func milliseconds(until time: Int64) -> Int32 {
        if time == .max { return -1 }
        let left = time - Clock.system.monotonic()
        return left <= 0 ? 0 : Int32(clamping: left / 1_000_000 + 1)
    }

    /// Notifies others of what was flushed since the last notification.
    /// - Returns: `false` if there was nothing.
    private func send(_ session: PostgresSession) throws(PostgresError) -> Bool {
        let hasNews = state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
        guard hasNews else { return false }
        let text = "\(durable.position) \(durable.change)"
        _ = try session.run(Request(Self.notification) { $0.add(text) }, seconds: Database.writeSeconds)
        return true
    }

    /// Receives the notifications that have come. Their ends are claims, which the reader confirms.
    /// - Returns: `false` if there were none.
    private func hear(_ session: PostgresSession) throws(PostgresError) -> Bool {
        let texts = try session.notifications()
        for text in texts {
            let numbers = text.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 2 else { continue }
            durable.claim(StoreEnds(event: numbers[0], change: numbers[1]))
        }
        return !texts.isEmpty
    }
}
