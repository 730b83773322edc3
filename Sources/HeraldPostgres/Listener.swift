import Glibc
import HeraldCore
import HeraldRuntime
import Synchronization

/// The session that hears what other processes have committed, and tells them what this one has. It has a thread of its own.
///
/// A commit with NOTIFY holds a lock of the whole server until it is flushed. So there is none in a transaction that writes: a
/// notification is a transaction of its own, which waits for no disk, after the flush; and at most one in `interval`. It names the
/// ends that are flushed, so that its receivers need not flush. Lost notifications are replaced by polling.
final class Listener: Sendable {
    private struct State {
        var notify: (@Sendable () -> Void)?
        /// Something was flushed that others have not been told of.
        var hasNews = false
        var isClosed = false
    }

    private let database: Database
    private let durable: DurableEnds
    private let state = Mutex(State())
    private let wakeup: Wakeup?

    /// Nanoseconds between two notifications.
    private static let interval: Int64 = 5_000_000
    /// How long to wait before the session is opened again, in milliseconds: doubled each time.
    private static let pauses: ClosedRange<Int32> = 100...5_000

    private static let listen = Request(Statement("LISTEN herald"))
    private static let notification = Statement("SELECT pg_notify('herald', $1::text)")

    init(_ database: Database, _ durable: DurableEnds) {
        self.database = database
        self.durable = durable
        wakeup = try? Wakeup()
    }

    /// Begins. Without a thread, others are followed by looking.
    /// - Parameter notify: called when others have committed something.
    func start(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
        let thread = try? Thread(name: "store-listener") { [self] in run() }
        // It may wait for a server when the store is closed.
        thread?.detach()
    }

    /// Others are told, soon. Any thread.
    func announce() {
        let mustWake = state.withLock { state in
            defer { state.hasNews = true }
            return state.notify != nil && !state.hasNews
        }
        if mustWake { wakeup?.signal() }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.notify = nil
        }
        wakeup?.signal()
    }

    // MARK: The thread

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func notify() { state.withLock { $0.notify }?() }

    private func run() {
        guard let wakeup else { return }
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

    /// Listens and notifies until the session is lost, or the store closed.
    private func follow(_ session: PostgresSession, _ wakeup: Wakeup) throws(PostgresError) {
        var next: Int64 = 0
        while true {
            try hear(session)
            let now = Clock.system.monotonic()
            let (hasNews, isClosed) = state.withLock { state in
                defer { if now >= next { state.hasNews = false } }
                return (state.hasNews, state.isClosed)
            }
            if isClosed { return session.close() }
            var wait: Int32 = -1
            if hasNews, now >= next {
                next = now + Self.interval
                let text = "\(durable.position) \(durable.change)"
                _ = try session.run(Request(Self.notification) { $0.add(text) }, seconds: Database.writeSeconds)
                continue
            } else if hasNews {
                wait = Int32((next - now) / 1_000_000) + 1
            }
            var entries = [session.descriptor, wakeup.descriptor].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&entries, 2, wait)
            wakeup.clear()
        }
    }

    /// Takes the notifications that have come.
    private func hear(_ session: PostgresSession) throws(PostgresError) {
        let texts = try session.notifications()
        if texts.isEmpty { return }
        // Anyone with access to the database can notify: what does not exist is not believed.
        let rows = try session.run(Request(StoreEnds.statement), seconds: Database.writeSeconds)
        guard let ends = try? StoreEnds(rows.first) else { return notify() }
        for text in texts {
            let numbers = text.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 2 else { continue }
            durable.raise(to: StoreEnds(event: min(numbers[0], ends.event), change: min(numbers[1], ends.change)))
        }
        notify()
    }
}
