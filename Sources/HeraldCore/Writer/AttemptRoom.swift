import HeraldModel
import Synchronization

/// How much the history of attempts may still grow within its budget.
///
/// `RetentionTask` measures it now and then. In between, a transaction that would exceed the budget first removes as many
/// bytes as that: so the budget holds however fast attempts are recorded, and however late the next measurement is.
final class AttemptRoom: Sendable {
    /// The recorded bytes so far, less the bytes removed for them (`AttemptRecord.storedBytes`). Changed by the
    /// writer's thread, after the commit.
    private let sum = Atomic<Int64>(0)
    /// The sum at which the budget is full. More than is ever recorded until it is measured.
    private let end = Atomic<Int64>(.max / 2)

    /// Read this before a measurement. The measurement may or may not include attempts that are recorded during it.
    var recorded: Int64 { sum.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - left: bytes.
    ///   - before: what `recorded` was before the measurement.
    func measured(_ left: Int64, before: Int64) { end.store(before + left, ordering: .relaxed) }

    /// Another process makes the room: it removes what this one records.
    func forget() { end.store(.max / 2, ordering: .relaxed) }

    /// The bytes by which this many more would exceed the budget.
    func excess(adding bytes: Int) -> Int64 {
        max(0, recorded + Int64(bytes) - end.load(ordering: .relaxed))
    }

    /// The writer's thread.
    func changed(recorded: Int, removed: Int64) {
        sum.store(self.recorded + Int64(recorded) - removed, ordering: .relaxed)
    }
}

/// Removes the oldest attempts, to make room for those that the same transaction records.
struct AttemptRemoval: StoreCommand {
    /// How much to remove at least, if there is as much (`AttemptRecord.storedBytes`).
    let bytes: Int64

    /// The size of a large attempt, with an excerpt of the response.
    private static let largeAttempt: Int64 = 1_100

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        var removed = RemovedAttempts(count: 0, bytes: 0)
        var rows = bytes / Self.largeAttempt + 1
        while removed.bytes < bytes {
            let more = try transaction.removeAttempts(through: .max, limit: Int(rows))
            if more.count == 0 { break }
            removed.count += more.count
            removed.bytes += more.bytes
            // As many as it takes if the others are as large.
            rows = (bytes - removed.bytes) * Int64(removed.count) / max(1, removed.bytes) + 1
        }
        if removed.count > 0 { try transaction.count(Removal(.attempts, .size, count: removed.count)) }
        plan.removedAttemptBytes += removed.bytes
    }
}
