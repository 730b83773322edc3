import HeraldModel
import HeraldStore
import Synchronization

extension StoreEnds {
    private static let ends = """
        coalesce((SELECT sequence FROM events ORDER BY sequence DESC LIMIT 1), 0),
            coalesce((SELECT number FROM changes ORDER BY number DESC LIMIT 1), 0)
        """
    static let statement = Statement("SELECT \(ends)")
    /// Also whether programs have published events with SQL.
    static let withSubmissions = Statement("SELECT \(ends), EXISTS (SELECT 1 FROM submissions)")

    /// - Parameter row: a row of `statement`.
    init(_ row: Row?) throws(StoreError) {
        self.init(
            event: try row?.natural(0, "position") ?? 0, change: try row?.natural(1, "number of a change") ?? 0)
    }
}

/// The ends of the flushed part of the log and of the changes, as this process knows them. Later events are not delivered, because they could still be lost.
/// Only ever raised; any thread.
final class DurableEnds: Sendable {
    private let head = Atomic<LogPosition>(0)
    private let lastChange = Atomic<Int64>(0)
    private let lastAttempt = Atomic<Int64>(0)
    private let claimedHead = Atomic<LogPosition>(0)
    private let claimedChange = Atomic<Int64>(0)

    /// The end of the log.
    var position: LogPosition { head.load(ordering: .acquiring) }
    /// The end of the list of changes.
    var change: Int64 { lastChange.load(ordering: .acquiring) }
    /// The last attempt of this process that `AttemptHeads` knows of.
    var attempt: Int64 { lastAttempt.load(ordering: .acquiring) }

    var ends: StoreEnds { StoreEnds(event: position, change: change) }

    func includes(_ ends: StoreEnds) -> Bool { ends.event <= position && ends.change <= change }

    func raise(to ends: StoreEnds) {
        head.max(ends.event, ordering: .acquiringAndReleasing)
        lastChange.max(ends.change, ordering: .acquiringAndReleasing)
    }

    /// Another process claims to have flushed up to these ends. A reader confirms it: anyone with access to the database can notify.
    func claim(_ ends: StoreEnds) {
        claimedHead.max(ends.event, ordering: .acquiringAndReleasing)
        claimedChange.max(ends.change, ordering: .acquiringAndReleasing)
    }

    /// Returns the highest ends that were claimed since the last call.
    func takeClaim() -> StoreEnds {
        StoreEnds(
            event: claimedHead.exchange(0, ordering: .acquiringAndReleasing),
            change: claimedChange.exchange(0, ordering: .acquiringAndReleasing))
    }

    func raise(toAttempt id: Int64) { lastAttempt.max(id, ordering: .acquiringAndReleasing) }
}

extension PostgresSession {
    /// A commit that waits until all before it are on disk, and on the synchronous standbys.
    static let flush = Request(Statement("SELECT pg_logical_emit_message(true, 'herald', '')"))

    /// Makes sure that what this session has read, up to these ends, can't vanish any more. Nothing is done if that is known.
    func settle(_ ends: StoreEnds, _ durable: DurableEnds) throws(PostgresError) {
        if durable.includes(ends) { return }
        _ = try run(Self.flush, seconds: Database.writeSeconds)
        // The wait for a standby was canceled.
        if let warning { throw .unavailable(warning) }
        durable.raise(to: ends)
    }
}
