import Dispatch
import Foundation

@testable import Delegation

protocol Listener: AnyObject, Sendable {
    func hear(_ word: String)
}

/// Writes down what it hears, in a record that several can share, and then does something.
final class Scribe: Listener {
    let name: String
    let record: Record
    let reaction: @Sendable (Scribe) -> Void

    init(_ name: String, _ record: Record, reaction: @escaping @Sendable (Scribe) -> Void = { _ in }) {
        self.name = name
        self.record = record
        self.reaction = reaction
    }

    func hear(_ word: String) {
        record.add("\(name) \(word)")
        reaction(self)
    }
}

/// The received calls, in their order.
final class Record: Sendable {
    private let storage = Lock<[String]>([])
    var lines: [String] { storage.withLock { $0 } }
    func add(_ line: String) { storage.withLock { $0.append(line) } }
}

/// A variable that threads share. (`Synchronization.Mutex` would look like a race to ThreadSanitizer; see `Lock`.)
final class Box<Value: Sendable>: Sendable {
    private let storage: Lock<Value>
    init(_ value: Value) { storage = Lock(value) }
    var value: Value {
        get { storage.withLock { $0 } }
        set {
            var old = newValue
            storage.withLock { swap(&$0, &old) }
            withExtendedLifetime(old) {}  // What is released is released outside the lock.
        }
    }
    func update(_ change: (inout Value) -> Void) { storage.withLock { change(&$0) } }
}

/// How deep in its thread's stack a function is called.
struct StackPosition: Comparable {
    private let address: UInt

    @inline(never)
    init() {
        var marker = 0
        address = withUnsafePointer(to: &marker) { UInt(bitPattern: $0) }
    }

    /// The stack grows towards smaller addresses.
    static func < (left: Self, right: Self) -> Bool { left.address < right.address }
}

/// Runs the body on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
    }
}

/// Runs the body on a thread of its own, and keeps this one until it has ended.
func blockUntilDone(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
        body()
        done.signal()
    }.start()
    done.wait()
}
