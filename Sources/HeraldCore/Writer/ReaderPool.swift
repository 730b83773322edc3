import HeraldModel
import HeraldRuntime
import Synchronization

/// A few threads with a read connection each, so that reads of the store do not block a loop's thread. The apps take turns,
/// each in the order of its reads. The server itself is one more line of reads, without an app.
final class ReaderPool: Sendable {
    typealias Job = @Sendable (Result<any StoreReader, StoreError>) -> Void

    private struct Queue {
        var jobs = TurnQueue<AppKey?, Job>()
        var isEnded = false

        /// An app has at most as many reads as can still be added: one app takes half of the queue, two take a third each. So
        /// there is room for one more app, whatever some apps take. The server may fill the queue, because its own reads are few.
        func hasRoom(for app: AppKey?) -> Bool {
            let free = ReaderPool.maxWaiting - jobs.count
            return app == nil ? free > 0 : jobs.count(of: app) < free
        }
    }

    /// The maximum number of waiting reads; more are refused.
    static let maxWaiting = 1_000

    private let store: any EventStore
    private let health: StorageHealth
    private let clock: Clock
    private let queue = Mutex(Queue())
    private let tickets = Semaphore()
    private let threads = Mutex<[Thread]>([])

    /// - Parameters:
    ///   - health: gets the failures of reads of the server itself.
    ///   - clock: the clock of these reports.
    init(
        store: any EventStore, threads count: Int, health: StorageHealth = StorageHealth(), clock: Clock = .system
    ) throws(SystemError) {
        self.store = store
        self.health = health
        self.clock = clock
        do throws(SystemError) {
            for number in 1...count {
                let thread = try Thread(name: "store-read-\(number)") { [self] in run() }
                threads.withLock { $0.append(thread) }
            }
        } catch {
            // The first ones would keep the store open.
            stop()
            throw error
        }
    }

    /// Runs a job on one of the threads. Any thread. Returns `false` if too many jobs wait, in all or of this app.
    /// - Parameter app: `nil` for a read of the server itself, or for several apps together.
    func submit(app: AppKey?, _ job: @escaping Job) -> Bool {
        let taken = queue.withLock { queue in
            if queue.isEnded || !queue.hasRoom(for: app) { return false }
            queue.jobs.append(job, of: app)
            return true
        }
        if taken { tickets.signal() }
        return taken
    }

    /// Reads in a job of the server itself, and reports a failure.
    /// - Returns: `nil` if the read fails.
    func found<Value>(
        _ reader: Result<any StoreReader, StoreError>, _ body: (any StoreReader) throws(StoreError) -> Value
    ) -> Value? {
        do throws(StoreError) {
            return try body(try reader.get())
        } catch {
            health.readFailed(error, at: clock.monotonic())
            return nil
        }
    }

    /// The number of reads that wait for a thread.
    var waiting: Int { queue.withLock { $0.jobs.count } }

    /// Whether the caller runs on one of the threads.
    var isCaller: Bool { threads.withLock { $0.contains(where: \.isCurrent) } }

    /// Runs the waiting jobs and closes the connections. Returns when that is done.
    func stop() {
        queue.withLock { $0.isEnded = true }
        let all = threads.withLock { threads in
            let all = threads
            threads = []
            return all
        }
        for _ in all { tickets.signal() }
        for thread in all { thread.join() }
    }

    private func run() {
        var reader: (any StoreReader)?
        while true {
            tickets.wait()
            let job = queue.withLock { $0.jobs.takeFirst() }
            guard let job else {
                if queue.withLock({ $0.isEnded }) { return }
                continue
            }
            do throws(StoreError) {
                if reader == nil { reader = try store.makeReader() }
                if let reader { job(.success(reader)) }
            } catch {
                job(.failure(error))
            }
        }
    }
}
