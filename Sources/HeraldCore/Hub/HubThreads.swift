import Delegation
import HeraldDelivery
import HeraldModel
import HeraldRuntime
import Synchronization

/// The threads of a hub and their parts: everything that has to end in order with the hub, even if it is only
/// deallocated.
final class HubThreads: Sendable {
    let store: any EventStore
    let intake: Intake
    let writer: LogWriter
    let readers: ReaderPool
    let loops: [DeliveryLoop]
    private let volumes: VolumeTask
    private let node: LocalNode
    private let clock: Clock
    private let isStopped = Atomic<Bool>(false)
    let observers = MulticastDelegate<any StopObserver>()

    /// Called at the end; `nil` after it.
    private let waiting = Mutex<[@Sendable () -> Void]?>([])

    init(
        store: any EventStore, intake: Intake, writer: LogWriter, readers: ReaderPool, loops: [DeliveryLoop],
        volumes: VolumeTask, node: LocalNode, clock: Clock
    ) {
        self.store = store
        self.intake = intake
        self.writer = writer
        self.readers = readers
        self.loops = loops
        self.volumes = volumes
        self.node = node
        self.clock = clock
    }

    var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    /// Whether the caller runs on one of them, which can't wait for itself.
    var areCaller: Bool { writer.isCaller || readers.isCaller || loops.contains { $0.isCaller } }

    /// Ends everything, once. Waits for it, except on one of these threads, where it returns at once.
    /// - Parameter grace: the time for attempts in flight, in nanoseconds.
    func stop(grace: Int64) {
        if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return }
        intake.refusePublications()
        guard areCaller else { return end(grace: grace) }
        // Without memory for another thread they run until the process ends.
        let stopping = try? Thread(name: "hub-stop") { [self] in end(grace: grace) }
        stopping?.detach()
    }

    private func end(grace: Int64) {
        let deadline = clock.monotonic() + grace
        node.leave(deadline: deadline)
        for loop in loops { loop.stop(deadline: deadline) }
        for loop in loops { loop.waitUntilFlushed() }
        writeVolumes()
        intake.end()
        writer.join()
        readers.stop()
        // The writer and the readers wake loops: a sender is closed after both have ended.
        for loop in loops { loop.close() }
        store.close()
        observers.invokeDelegates { $0.hubHasStopped() }
        for body in waiting.withLock({ $0.take() }) ?? [] { body() }
    }

    /// Writes the counts of what was published and attempted until now.
    private func writeVolumes() {
        // A counter whose earlier write is under way writes the rest after that.
        for _ in 1...2 where writer.health.canWrite && !volumes.volumes(of: nil).isEmpty {
            volumes.write()
            drain()
        }
    }

    /// Returns when everything that was submitted before is committed and completed.
    func drain() {
        let done = Semaphore()
        if intake.submit(Barrier { done.signal() }) == nil { done.wait() }
    }

    /// Calls `body` once everything has ended; at once if it has. Any thread; must not wait.
    func whenStopped(_ body: @escaping @Sendable () -> Void) {
        let isOver = waiting.withLock { waiting in
            waiting?.append(body)
            return waiting == nil
        }
        if isOver { body() }
    }
}

extension HubThreads {
    /// The threads that write and deliver. Those that only read are left out: a read may take long, and its caller has a limit.
    var pulses: [Pulse] {
        let writing = Pulse(thread: "store-writer") { [intake] body in
            // When too many requests wait for the writer, it responds after the writes that are submitted.
            if !intake.catchUp({ _ in body() }) { _ = intake.submit(Barrier(reached: body)) }
        }
        return [writing]
            + loops.enumerated().map { number, loop in
                Pulse(thread: "deliver-\(number + 1)") { body in loop.after(nanoseconds: 0, body) }
            }
    }
}

/// Is called when a hub has stopped.
package protocol StopObserver: AnyObject, Sendable {
    /// The store is closed; there are no more events. Any thread.
    func hubHasStopped()
}

/// Why the hub can't wait.
package enum HubWaitError: Error, CustomStringConvertible {
    /// The caller runs on the writer's thread, for which it would wait.
    case onWriterThread

    package var description: String {
        "This is the thread of the store's writer, which can't wait for itself. Return from the delegate or completion "
            + "that it has called, or use afterDraining(_:)."
    }
}
