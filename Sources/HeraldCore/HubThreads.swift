import Delegation
package import HeraldRuntime
import Synchronization

/// The threads of a hub and what they work with: what has to end in order when the hub does, also when it is only dropped.
final class HubThreads: Sendable {
    let store: any EventStore
    let intake: Intake
    let writer: LogWriter
    let readers: ReaderPool
    let loops: [DeliveryLoop]
    private let clock: Clock
    private let isStopped = Atomic<Bool>(false)
    let observers = MulticastDelegate<any StopObserver>()

    init(
        store: any EventStore, intake: Intake, writer: LogWriter, readers: ReaderPool, loops: [DeliveryLoop],
        clock: Clock
    ) {
        self.store = store
        self.intake = intake
        self.writer = writer
        self.readers = readers
        self.loops = loops
        self.clock = clock
    }

    var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    /// Whether the caller is called by one of them, which can't wait for itself.
    var areCaller: Bool { writer.isCaller || readers.isCaller || loops.contains { $0.isCaller } }

    /// Ends everything, once. Waits for it, but not on one of these threads: there it returns at once.
    /// - Parameter grace: nanoseconds that attempts in flight get.
    func stop(grace: Int64) {
        if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return }
        intake.refusePublications()
        guard areCaller else { return end(grace: grace) }
        // Without memory for another thread they go on until the process ends.
        _ = try? Thread(name: "hub-stop") { [self] in end(grace: grace) }
    }

    private func end(grace: Int64) {
        let deadline = clock.monotonic() + grace
        for loop in loops { loop.stop(deadline: deadline) }
        for loop in loops { loop.waitUntilFlushed() }
        intake.end()
        writer.join()
        readers.stop()
        // Writer and readers wake loops: a sender is closed when both are gone.
        for loop in loops { loop.close() }
        store.close()
        observers.invokeDelegates { $0.hubHasStopped() }
    }
}

/// Is called when a hub has stopped.
package protocol StopObserver: AnyObject, Sendable {
    /// The store is closed; no event comes any more. Any thread.
    func hubHasStopped()
}

/// Why the hub can't wait.
package enum HubWaitError: Error, CustomStringConvertible {
    /// The caller is called by the store's writer, for which it would wait.
    case onWriterThread
    case system(SystemError)

    package var description: String {
        switch self {
        case .onWriterThread:
            "This is the thread of the store's writer, which can't wait for itself. Return from the delegate or completion "
                + "that it has called, or use afterDraining(_:)."
        case .system(let error): error.description
        }
    }
}
