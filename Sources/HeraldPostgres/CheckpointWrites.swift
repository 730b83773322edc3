import HeraldModel
import HeraldStore

/// The requests that write a checkpoint of the delivery loops: one for each table that it changes.
///
/// A loop may still report on a delegate after it was deleted; this must not restore its rows. And a statement can't change a
/// row twice: of several values for one row, the last one counts.
enum CheckpointWrites {
    /// - Parameters:
    ///   - attempts: the ids of its attempts, and the attempt before each of them, of the same delegate.
    ///   - statistics: the sums of the slots, with what is stored.
    static func requests(
        _ checkpoint: Checkpoint, attempts: [(id: Int64, previous: Int64)], statistics: [DeliveryStatistics]
    ) -> [Request] {
        var requests: [Request] = []
        if !checkpoint.attempts.isEmpty { requests.append(add(checkpoint.attempts, attempts)) }
        // Requests change deliveries in this order, too: in another one, two processes could each lock a row that the other needs.
        let waiting = last(of: checkpoint.waiting, by: { $0.key }).sorted { $0.key < $1.key }
        let ended = checkpoint.ended.sorted()
        requests += batch(setWaiting, waiting) { parameters in
            add(waiting, to: &parameters)
            parameters.add(checkpoint.known)
        }
        requests += batch(endWaiting, ended) { parameters in
            let delivered = checkpoint.delivered
            parameters.add(ended) { $0.delegate }
            parameters.add(ended) { $0.event }
            parameters.add(ended) { delivered.contains($0) ? 1 : 0 }
            parameters.add(checkpoint.known)
        }
        let lanes = last(of: checkpoint.lanes, by: { $0.delegate })
        requests += batch(setLanes, lanes) { parameters in
            parameters.add(lanes) { $0.delegate }
            parameters.add(lanes) { $0.cursor }
            parameters.add(lanes) { $0.position }
        }
        requests += batch(removeLanes, checkpoint.caughtUp) { parameters in parameters.add(checkpoint.caughtUp) { $0 } }
        if let settled = checkpoint.settled {
            requests.append(Request(settle, numbers: checkpoint.shards.numbers, settled))
            requests.append(Request(reach) { parameters in parameters.add(bits(checkpoint.shards)) })
        } else if !checkpoint.isOfPull, let first = attempts.first, let last = attempts.last {
            requests.append(
                Request(goAhead) { parameters in
                    parameters.add(first.id, last.id, bits(Shards(checkpoint.attempts.map { Shards(of: $0.delegate) })))
                })
        }
        return requests + replays(checkpoint) + counts(checkpoint, statistics)
    }

    /// The request for all items of a kind; none without items.
    private static func batch(
        _ statement: Statement, _ items: some Collection, _ fill: (inout Parameters) -> Void
    ) -> [Request] { items.isEmpty ? [] : [Request(statement, fill)] }

    private static func bits(_ shards: Shards) -> Int64 { Int64(bitPattern: shards.rawValue) }

    private static func replays(_ checkpoint: Checkpoint) -> [Request] {
        var requests: [Request] = []
        let moved = last(of: checkpoint.replays, by: { $0.id })
        requests += batch(moveReplays, moved) { parameters in
            parameters.add(moved) { $0.id }
            parameters.add(moved) { $0.cursor }
        }
        let ended = checkpoint.endedReplays
        requests += batch(endReplays, ended) { parameters in parameters.add(ended) { $0.id } }
        return requests
    }

    private static func counts(_ checkpoint: Checkpoint, _ statistics: [DeliveryStatistics]) -> [Request] {
        var requests: [Request] = []
        requests += batch(setStatistics, statistics) { parameters in
            parameters.add(statistics) { $0.delegate }
            parameters.add(statistics) { $0.start }
            parameters.add(statistics) { Int64($0.delivered) }
            parameters.add(statistics) { Int64($0.failed) }
            parameters.add(statistics) { $0.latencies.text }
        }
        requests += sums(checkpoint.missed).map { Request(.log(.addRemoval), $0.values) }
        let unannounced = checkpoint.unannounced.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        requests += batch(setUnannounced, unannounced) { parameters in
            parameters.add(unannounced) { $0.key }
            parameters.add(unannounced) { Int64($0.value) }
        }
        let announced = checkpoint.unannounced.filter { $0.value == 0 }.keys.sorted()
        requests += batch(removeUnannounced, announced) { parameters in parameters.add(announced) { $0 } }
        return requests
    }

    /// One for each row, in one order. All processes change these rows, and there may be a number of each delegate.
    private static func sums(_ removals: [Removal]) -> [Removal] {
        var sums: [Removal] = []
        for part in Removal.Part.allCases {
            for cause in Removal.Cause.allCases {
                let found = removals.filter { $0.part == part && $0.cause == cause }
                if found.isEmpty { continue }
                sums.append(Removal(part, cause, count: found.reduce(0) { $0 + $1.count }))
            }
        }
        return sums
    }

    private static func add(_ records: [AttemptRecord], _ attempts: [(id: Int64, previous: Int64)]) -> Request {
        func unlessZero(_ value: Int64) -> Int64? { value == 0 ? nil : value }
        return Request(addAttempts) { parameters in
            parameters.add(attempts) { $0.id }
            parameters.add(records) { $0.delegate }
            parameters.add(records) { $0.event }
            parameters.add(records) { Int64($0.number) }
            parameters.add(records) { $0.startedAt }
            parameters.add(records) { $0.duration }
            parameters.add(records) { $0.status.map(Int64.init) }
            parameters.add(records) { $0.failure?.rawValue }
            parameters.add(records) { $0.detail.isEmpty ? nil : $0.detail }
            parameters.add(records) { $0.excerpt.isEmpty ? nil : $0.excerpt }
            parameters.add(records) { $0.isReplay ? 1 : nil }
            parameters.add(records) { unlessZero($0.transport.lookup) }
            parameters.add(records) { unlessZero($0.transport.connect) }
            parameters.add(records) { unlessZero($0.transport.tls) }
            parameters.add(records) { unlessZero($0.transport.firstByte) }
            parameters.add(records) { $0.transport.isReused ? 1 : nil }
            parameters.add(records) { $0.transport.peer.isEmpty ? nil : $0.transport.peer }
            parameters.add(records) { unlessZero($0.transport.bytesSent) }
            parameters.add(records) { unlessZero($0.transport.bytesReceived) }
            parameters.add(attempts) { $0.previous }
        }
    }

    /// - Parameter change: the one that asks for these deliveries.
    static func request(redelivering deliveries: [WaitingDelivery], change: Int64) -> Request {
        Request(redeliver) { parameters in
            add(deliveries, to: &parameters)
            parameters.add(change)
        }
    }

    private static func add(_ deliveries: [WaitingDelivery], to parameters: inout Parameters) {
        parameters.add(deliveries) { $0.delegate }
        parameters.add(deliveries) { $0.event }
        parameters.add(deliveries) { Int64($0.attempts) }
        parameters.add(deliveries) { $0.dueAt }
        parameters.add(deliveries) { Int64($0.state.rawValue) }
        parameters.add(deliveries) { $0.form }
        parameters.add(deliveries) { Int64($0.uncounted) }
    }

    /// Returns the last one of several items for each key.
    private static func last<Item, Key: Hashable>(of items: [Item], by key: (Item) -> Key) -> [Item] {
        if items.count < 2 { return items }
        var found: [Key: Int] = [:]
        for (index, item) in items.enumerated() { found[key(item)] = index }
        return found.values.sorted().map { items[$0] }
    }

    // MARK: Statements

    private static let lives = "EXISTS (SELECT 1 FROM delegates WHERE key = u.delegate AND deleted_at IS NULL)"

    /// Functions in the SELECT list cost half of what one in FROM does, which collects all rows first.
    private static let addAttempts = Statement(
        """
        INSERT INTO attempts (\(StoredAttempt.columns), previous) SELECT
            unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]),
            unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::text[]), unnest($9::text[]), unnest($10::bytea[]),
            unnest($11::bigint[]), unnest($12::bigint[]), unnest($13::bigint[]), unnest($14::bigint[]), unnest($15::bigint[]),
            unnest($16::bigint[]), unnest($17::text[]), unnest($18::bigint[]), unnest($19::bigint[]), unnest($20::bigint[])
        """)
    private static func setWaiting(_ request: String) -> String {
        """
        INSERT INTO waiting (\(WaitingDelivery.columns), request)
        SELECT u.*, \(request) FROM unnest(
            $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS u(delegate, event, attempts, due_at, state, is_replay, uncounted) WHERE \(lives)
        ON CONFLICT (delegate, event) DO UPDATE SET attempts = excluded.attempts, due_at = excluded.due_at,
            state = excluded.state, is_replay = excluded.is_replay, uncounted = excluded.uncounted
        """
    }
    private static let setWaiting = Statement(setWaiting("0") + " WHERE waiting.request <= $8")
    private static let redeliver = Statement(setWaiting("$8::bigint") + ", request = excluded.request")
    /// A delivery may have succeeded just before it was cancelled: its loop, which has no row any more, does not end it again.
    private static let endWaiting = Statement(
        """
        DELETE FROM waiting w USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(delegate, event, is_delivered)
        WHERE w.delegate = u.delegate AND w.event = u.event
            AND (w.request <= $4 OR w.state = \(WaitingDelivery.State.dropped.rawValue) AND u.is_delivered = 1)
        """)
    private static let setLanes = Statement(
        """
        INSERT INTO lanes (\(LanePosition.columns))
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(delegate, cursor, position) WHERE \(lives)
        ON CONFLICT (delegate) DO UPDATE SET cursor = excluded.cursor, position = excluded.position
        """)
    private static let removeLanes = Statement("DELETE FROM lanes WHERE delegate = ANY($1::bigint[])")
    private static let settle = Statement(
        "UPDATE shards SET settled = $2 WHERE shard = ANY($1::bigint[]) AND settled <> $2")
    /// Attempts that are ahead of the positions, which a recovery looks for.
    private static let goAhead = Statement("INSERT INTO attempts_ahead VALUES ($1, $2, $3)")
    /// The positions of the shards $1 include all attempts again. Those of other shards may have another owner by now.
    private static let reach = Statement(
        """
        WITH others AS (UPDATE attempts_ahead SET shards = shards & ~$1::bigint WHERE shards & $1 <> 0 AND shards & ~$1 <> 0)
        DELETE FROM attempts_ahead WHERE shards & ~$1 = 0
        """)
    private static let moveReplays = Statement(
        """
        UPDATE replays r SET cursor = u.cursor FROM unnest($1::bigint[], $2::bigint[]) AS u(id, cursor) WHERE r.id = u.id
        """)
    private static let endReplays = Statement("DELETE FROM replays WHERE id = ANY($1::bigint[])")
    private static let setStatistics = Statement(
        """
        INSERT INTO statistics (\(DeliveryStatistics.columns))
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
            AS u(delegate, start, delivered, failed, latencies) WHERE \(lives)
        ON CONFLICT (delegate, start) DO UPDATE SET delivered = excluded.delivered, failed = excluded.failed,
            latencies = excluded.latencies
        """)
    private static let setUnannounced = Statement(
        """
        INSERT INTO unannounced SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS u(delegate, count) WHERE \(lives)
        ON CONFLICT (delegate) DO UPDATE SET count = excluded.count
        """)
    private static let removeUnannounced = Statement("DELETE FROM unannounced WHERE delegate = ANY($1::bigint[])")
}
