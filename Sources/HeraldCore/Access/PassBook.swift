import Synchronization

/// The passes in memory. The store has the durable copy.
///
/// The writer's thread changes it, after the commit; any thread reads.
public final class PassBook: Sendable {
    private let passes: Mutex<[[UInt8]: Pass]>

    init(_ passes: [Pass]) {
        self.passes = Mutex(Dictionary(passes.map { ($0.digest, $0) }, uniquingKeysWith: { $1 }))
    }

    /// - Parameter digest: SHA-256 of a text.
    public func find(_ digest: [UInt8], at time: Int64) -> Pass? {
        passes.withLock { $0[digest] }.flatMap { time < $0.expiresAt ? $0 : nil }
    }

    /// Ends a pass at once, whether the store has heard of it yet or not. Any thread.
    public func remove(_ digest: [UInt8]) { passes.withLock { $0[digest] = nil } }

    /// Keeps a session that the store could not take, until the process ends. Any thread.
    public func keepInMemory(_ session: Pass) {
        passes.withLock { passes in
            if passes.count < 2 * Pass.limit { passes[session.digest] = session }
        }
    }

    var all: [Pass] { Array(passes.withLock { $0 }.values) }

    /// The writer's thread.
    func set(_ pass: Pass) { passes.withLock { $0[pass.digest] = pass } }
}
