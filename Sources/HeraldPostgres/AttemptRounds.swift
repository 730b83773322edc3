import HeraldModel
import HeraldStore
import Synchronization

/// The ids of attempts, and where the list of a delegate's attempts begins, when several processes record them.
///
/// **Ids.** A session takes a *round* of 65,536 ids from a sequence when it needs one, and no other session uses them: sessions do not wait
/// for each other. A node that takes shards begins a new round. So the ids of a delegate's attempts ascend, although others made the earlier
/// ones, and `attempts.previous` links each to one with a smaller id.
///
/// An attempt that ends when the shard is elsewhere already is not linked: it would hide those that its new owner records. Neither
/// are those of pull delegates, which every node records. An index lists them.
///
/// **Last attempts.** The table `rounds` has the rounds that are not ended; `heads` has the last attempt of each delegate in all
/// others. So the last attempt is that in `heads`, or a later one in a round that is not ended. A session holds a lock for each of
/// its rounds: when one is full, it ends it between two transactions; and a session that begins a round ends those whose sessions have ended.
///
/// **Order.** Ids ascend within a round; one of a smaller number may be committed later. So what follows all attempts in their order
/// is given those of this process, and those that are older than it.
///
/// The writer's thread changes it, any thread reads it.
final class AttemptRounds: Sendable {
    private struct State {
        /// The ids of this process.
        var mine: [Range<Int64>] = []
        var last: Int64 = 0
    }
    private let state = Mutex(State())

    private static let shift: Int64 = 16

    /// Instead of the previous attempt.
    static let unlinked: Int64 = -1

    /// The ids of a round. The first one is not used: 0 stands for no attempt.
    static func ids(_ round: Int64) -> Range<Int64> { round << shift..<(round + 1) << shift }

    func began(_ round: Int64) {
        let ids = Self.ids(round)
        state.withLock { state in
            if let last = state.mine.last, last.upperBound == ids.lowerBound {
                state.mine[state.mine.count - 1] = last.lowerBound..<ids.upperBound
            } else {
                state.mine.append(ids)
            }
        }
    }

    /// The last attempt that this process has recorded; 0 for none.
    var last: Int64 { state.withLock { $0.last } }

    func recorded(through id: Int64) { state.withLock { $0.last = max($0.last, id) } }

    /// Returns the ranges of attempts after an attempt that a stream follows, in their order.
    func followed(after id: Int64) -> [Range<Int64>] {
        let mine = state.withLock { $0.mine }
        let older = 0..<(mine.first?.lowerBound ?? .max)
        return ([older] + mine).filter { $0.upperBound - 1 > id }
    }

    /// The ids of later rounds would not fit.
    static let maxRound = StoredNumber.limit >> (shift + 1)

    // MARK: Statements

    /// `bigint` of the id of the last attempt of delegate $1: one after $4, which is the last one of this process that memory knows
    /// of, or $3, which is what memory has, or what others have recorded.
    static let lastOfDelegate = """
        CASE WHEN NOT EXISTS (SELECT 1 FROM delegates WHERE key = $1 AND deleted_at IS NOT NULL) THEN greatest(
            $3::bigint, (SELECT attempt FROM heads WHERE delegate = $1),
            (SELECT max(a.id) FROM rounds JOIN attempts a
                ON a.id > CASE round WHEN $4::bigint >> \(shift) THEN $4 ELSE round << \(shift) END
                AND a.id < (round + 1) << \(shift) WHERE a.delegate = $1 AND a.previous <> \(unlinked))) END
        """

    /// `bigint` of the number of a round whose ids are greater than those of all attempts.
    static let roundAfterAll = "coalesce(((SELECT max(id) FROM attempts) >> \(shift)) + 1, 0)"

    /// `bigint` of the round with an id, and of the first id of a round.
    static func round(_ id: String) -> String { "((\(id)) >> \(shift))" }
    static func first(_ round: String) -> String { "((\(round)) << \(shift))" }

    static let lastRound = Request(Statement("SELECT last_value FROM round_numbers"))
    static let begin = Request(Statement("SELECT begin_round_1()"))
    private static let end = Statement("SELECT end_rounds_1($1::bigint[], $2::bigint)")

    /// Ends rounds of this session, and those of sessions that are gone.
    /// - Parameter current: the round that continues.
    static func end(_ mine: [Int64], current: Int64) -> Request {
        Request(end, numbers: mine, current)
    }

    /// The last attempts of all delegates, ended rounds first. One of a delegate that was deleted during it is forgotten.
    static let heads = [
        Statement("SELECT delegate, attempt FROM heads"),
        Statement(
            """
            SELECT delegate, max(id) FROM rounds JOIN attempts ON id >= round << \(shift) AND id < (round + 1) << \(shift)
            WHERE delegate <> 0 AND previous <> \(unlinked)
                AND NOT EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND deleted_at IS NOT NULL) GROUP BY delegate
            """),
    ]

    /// The deleted ones of some delegates.
    static let deleted = Statement(
        "SELECT key FROM delegates WHERE key = ANY($1::bigint[]) AND deleted_at IS NOT NULL")

    /// Part of the schema.
    static let functions = """
        -- The ids of attempts: AttemptRounds. Rounds that are not ended; the session that uses one holds its lock. What is
        -- changed here is flushed with the next attempts, before which it is not needed.
        CREATE SEQUENCE round_numbers AS bigint MINVALUE 0 START 0;
        CREATE TABLE rounds (round bigint PRIMARY KEY);
        CREATE FUNCTION begin_round_1() RETURNS bigint LANGUAGE plpgsql AS $f$
        DECLARE
            number bigint := nextval('round_numbers');
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            PERFORM pg_advisory_lock(\(Schema.roundLock), number::int);
            INSERT INTO rounds VALUES (number);
            RETURN number;
        END $f$;
        CREATE FUNCTION end_rounds_1(mine bigint[], current bigint) RETURNS void LANGUAGE plpgsql AS $f$
        DECLARE
            ended bigint;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            FOR ended IN SELECT round FROM rounds WHERE round <> current ORDER BY round LOOP
                -- A session gets its own locks, too.
                CONTINUE WHEN NOT pg_try_advisory_xact_lock(\(Schema.roundLock), ended::int);
                INSERT INTO heads SELECT delegate, max(id) FROM attempts
                    WHERE id >= ended << \(shift) AND id < (ended + 1) << \(shift) AND previous <> \(unlinked)
                        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND deleted_at IS NULL)
                    GROUP BY delegate ORDER BY delegate
                    ON CONFLICT (delegate) DO UPDATE SET attempt = greatest(heads.attempt, excluded.attempt);
                DELETE FROM rounds WHERE round = ended;
            END LOOP;
            PERFORM pg_advisory_unlock(\(Schema.roundLock), number::int) FROM unnest(mine) AS number;
        END $f$;
        """
}

extension Rows {
    /// The number of a round, in the first column of the first row.
    func round() throws(StoreError) -> Int64 {
        let round = try natural("round")
        guard round < AttemptRounds.maxRound else { throw .unreadable("round", String(round)) }
        return round
    }
}
