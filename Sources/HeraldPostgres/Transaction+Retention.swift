import HeraldModel
import HeraldStore

/// Removes events and attempts, counts what is left, and erases.
extension Transaction {
    func removed(_ range: ClosedRange<LogPosition>, first: LogPosition, kept: LogPosition) {
        begins[.events] = kept
    }

    // MARK: Attempts

    private static let firstAttempt = Statement("SELECT id FROM attempts ORDER BY id LIMIT 1")

    func removedAttempts() throws(StoreError) {
        begins[.attempts] = try run(Request(Self.firstAttempt)).natural("attempt")
    }

    // MARK: Blocks

    private static let removeBlock = Statement("DELETE FROM app_blocks WHERE block = $1")
    private static let setBlock = Statement(
        """
        INSERT INTO app_blocks (\(AppBlock.columns))
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
        """)
    /// Blocks that are no longer in the log.
    private static let removeOldBlocks = Statement(
        "DELETE FROM app_blocks WHERE block < (SELECT sequence FROM events ORDER BY sequence LIMIT 1) >> 10")

    private static let lastBlock = Statement("SELECT coalesce(max(block) + 1, 0) FROM app_blocks")

    func firstOpenBlock() throws(StoreError) -> Int64 { try writer.run(Request(Self.lastBlock)).natural("block") }

    func keepBlock(_ block: Int64, _ parts: [AppBlock]) throws(StoreError) { try record(Self.keep(block, parts)) }

    /// Replaces what is stored for a block.
    static func keep(_ block: Int64, _ parts: [AppBlock]) -> [Request] {
        let remove = Request(removeBlock) { $0.add(block) }
        if parts.isEmpty { return [remove] }
        let add = Request(setBlock) { parameters in
            parameters.add(parts) { $0.block }
            parameters.add(parts) { $0.app.rawValue }
            parameters.add(parts) { $0.events }
            parameters.add(parts) { $0.bytes }
        }
        return [remove, add]
    }

    func countBlock(_ block: Int64) throws(StoreError) -> [AppBlock] {
        try count(block, storingBefore: AppBlock.number(of: head + 1))
    }

    func recountBlock(_ block: Int64) throws(StoreError) -> [AppBlock] {
        try count(block, storingBefore: firstOpenBlock())
    }

    private func count(_ block: Int64, storingBefore end: Int64) throws(StoreError) -> [AppBlock] {
        try run(Request(Self.removeOldBlocks))
        let found: [AppBlock] = try run(RetentionQueries.blocks(in: AppBlock.places(block))).values()
        if block < end { try keepBlock(block, found) }
        return found
    }

    // MARK: Erasure

    private static let findEvents = Statement(
        "SELECT \(LoggedEvent.columns) FROM events WHERE sequence = ANY($1::bigint[]) ORDER BY sequence")
    private static let overwriteEvent = Statement(
        "UPDATE events SET subject = $2, data = $3, attributes = $4, checksum = $5 # $1 WHERE sequence = $1")
    /// The rows remain, without a delegate: the lists of delegates are linked through them, and statistics still count them.
    private static let wipeAttempts = Statement(
        """
        UPDATE attempts SET delegate = 0, event = 0, detail = NULL, excerpt = NULL, peer = NULL, bytes_sent = NULL,
            bytes_received = NULL WHERE id IN (SELECT id FROM attempts WHERE event = ANY($1::bigint[]) LIMIT $2)
        """)
    private static let removeWaitingOfEvents = Statement(
        """
        DELETE FROM waiting WHERE (delegate, event) IN
            (SELECT delegate, event FROM waiting WHERE event = ANY($1::bigint[]) LIMIT $2)
        """)

    func erase(_ all: [LogPosition], limit: Int) throws(StoreError) -> Erasure {
        let events = Array(all.prefix(limit))
        let results = try run([
            Request(Self.wipeAttempts, numbers: events, limit),
            Request(Self.removeWaitingOfEvents, numbers: events, limit), Request(Self.findEvents, numbers: events),
        ])
        var erasure = Erasure()
        erasure.attempts = results[0].changed
        erasure.deliveries = results[1].changed
        let mayHaveMore = erasure.attempts >= limit || erasure.deliveries >= limit
        // The subject of a damaged event is unknown; it is never served or sent.
        let found = try results[2].map { row throws(StoreError) in try writer.reading.listed(row) }
        for case let logged? in found {
            let (old, new) = (logged.event, logged.event.erased(keepingSubject: mayHaveMore))
            if old.isErased, old.subject == new.subject { continue }
            let attributes = TextList.encode(new.attributes)
            let overwrite = Request(Self.overwriteEvent) { parameters in
                parameters.add(
                    logged.sequence, new.subject, Array(new.data), attributes,
                    EventChecksum.of(new, at: 0, attributes: attributes))
            }
            try record([overwrite])
            if !old.isErased { erasure.events += 1 }
            erasure.freed[AppBlock.number(of: logged.sequence), default: 0] += Int64(old.storedBytes - new.storedBytes)
        }
        // What was erased is skipped by the next call.
        erasure.rest = Array(mayHaveMore ? all[...] : all.dropFirst(events.count))
        return erasure
    }

    private static let answers = Statement(
        "SELECT key, body FROM answers WHERE app = $1 AND key > $2 ORDER BY key LIMIT $3")
    private static let removeAnswers = Statement("DELETE FROM answers WHERE app = $1 AND key = ANY($2::text[])")
    /// The maximum number of responses in memory while all are visited.
    private static let pageSize = 256

    func eraseSubject(
        _ subject: String, app: AppKey, after key: String, limit: Int
    ) throws(StoreError) -> Erasure {
        let subject = ErasedSubject(subject)
        var erasure = Erasure()
        erasure.authStatuses = try change(.log(.removeStatus), [app, subject.userID])
        var (last, left) = (key, limit)
        while left > 0 {
            let size = min(left, Self.pageSize)
            let page = try run(Self.answers) { $0.add(app.rawValue, last, size) }.map { ($0.text(0), $0.bytes(1)) }
            var named: [String] = []
            for (key, body) in page
            where subject.mayBeNamed(in: body, .answer(app, key: key), writer.sealer) { named.append(key) }
            try run(Self.removeAnswers) { parameters in
                parameters.add(app.rawValue)
                parameters.add(named) { $0 }
            }
            erasure.answers += named.count
            guard page.count == size, let end = page.last else { return erasure }
            (last, left) = (end.0, left - size)
        }
        erasure.nextAnswer = last
        return erasure
    }
}
