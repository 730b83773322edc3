package import HeraldModel
import Synchronization

/// The events that this process has refused after their commit, since its start. The writer's thread changes it, any thread
/// reads it.
package final class RefusedEvents: Sendable {
    package typealias Observer = @Sendable (RefusedEvent) -> Void

    private let total = Atomic<Int>(0)
    private let observer = Mutex<Observer?>(nil)

    package var count: Int { total.load(ordering: .relaxed) }

    /// - Parameter observer: called on the writer's thread with each refused event; must not wait.
    package func observe(_ observer: @escaping Observer) { self.observer.withLock { $0 = observer } }

    func add(_ event: RefusedEvent) {
        total.add(1, ordering: .relaxed)
        observer.withLock { $0 }?(event)
    }
}
