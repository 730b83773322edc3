package import HeraldCore
package import HeraldSealing

// The conversion of the rows of frequent tables into values. Each list of columns is next to the function that reads
// it, in the same order. Other tables declare each column (`RowTable`).

extension LoggedEvent {
    package static let columns = "sequence, app, id, type, subject, time, data, attributes, audience, checksum"
    package static let columnCount = 10

    /// For `EventReading` only, which verifies the row's checksum first.
    package init(_ row: some ResultRow) throws(StoreError) {
        let attributes = row.isNull(7) ? [] : try row.pairs(7)
        let event = row.withBytes(6) { data in
            Event(
                app: AppKey(rawValue: row.integer(1)), id: row.text(2), type: row.text(3), subject: row.optionalText(4),
                time: row.integer(5), attributes: attributes, audience: row.optionalInteger(8), data: data)
        }
        self.init(sequence: row.integer(0), event: event)
    }
}

extension StoredAttempt {
    package static let columns = """
        id, delegate, event, number, started_at, duration, status, failure, detail, excerpt, is_replay, lookup, connect, \
        tls, first_byte, is_reused, peer, bytes_sent, bytes_received
        """

    package init(_ row: some ResultRow) throws(StoreError) {
        let failure = try row.optionalText(7).map { text throws(StoreError) in
            try known(CallbackFailure(rawValue: text), "failure", text)
        }
        var record = AttemptRecord(
            delegate: row.integer(1), event: row.integer(2), number: Int(row.integer(3)),
            startedAt: row.integer(4), duration: row.integer(5), status: row.optionalInteger(6).map { Int($0) },
            failure: failure, detail: row.text(8), excerpt: row.bytes(9))
        record.isReplay = row.integer(10) != 0
        record.transport = TransportRecord(row)
        self.init(id: row.integer(0), record: record)
    }
}

extension TransportRecord {
    /// For the columns of an attempt. NULL is read as 0.
    fileprivate init(_ row: some ResultRow) {
        self.init()
        lookup = row.integer(11)
        connect = row.integer(12)
        tls = row.integer(13)
        firstByte = row.integer(14)
        isReused = row.integer(15) != 0
        peer = row.text(16)
        bytesSent = row.integer(17)
        bytesReceived = row.integer(18)
    }
}

extension WaitingDelivery {
    /// As stored.
    package static let columns = "delegate, event, attempts, due_at, state, is_replay, uncounted"
    package static let columnsWithSubject = columns + ", (SELECT subject FROM events WHERE sequence = waiting.event)"

    /// - Parameter row: a row of `columnsWithSubject`.
    package init(_ row: some ResultRow) throws(StoreError) {
        let state = Int(row.integer(4))
        self.init(
            delegate: row.integer(0), event: row.integer(1), attempts: Int(row.integer(2)), dueAt: row.integer(3),
            state: try known(State(rawValue: state), "state", String(state)), isReplay: row.integer(5) != 0,
            isNamed: row.integer(5) == 2, uncounted: Int(row.integer(6)), subject: row.optionalText(7))
    }
}

extension Replay {
    package static let columns = "id, delegate, cursor, until, created_at, start"

    package init(_ row: some ResultRow) {
        self.init(
            id: row.integer(0), delegate: row.integer(1), start: row.optionalInteger(5), cursor: row.integer(2),
            until: row.integer(3),
            createdAt: row.integer(4))
    }
}

extension DeliveryStatistics {
    package static let columns = "delegate, start, delivered, failed, latencies"

    package init(_ row: some ResultRow) throws(StoreError) {
        self.init(
            delegate: row.integer(0), start: row.integer(1), delivered: Int(row.integer(2)),
            failed: Int(row.integer(3)),
            latencies: try known(LatencyHistogram(text: row.text(4)), "histogram", row.text(4)))
    }
}

extension LanePosition {
    package static let columns = "delegate, cursor, position"

    package init(_ row: some ResultRow) {
        self.init(delegate: row.integer(0), cursor: row.integer(1), position: row.integer(2))
    }
}

extension DeliveryKey {
    package static let columns = "delegate, event"

    package init(_ row: some ResultRow) {
        self.init(delegate: row.integer(0), event: row.integer(1))
    }
}

extension AuthStatus {
    package static let columns = "app, user_id, logged_in, user, since, event_id"

    package init(_ row: some ResultRow) {
        self.init(
            app: AppKey(rawValue: row.integer(0)), userID: row.text(1), isLoggedIn: row.integer(2) != 0,
            user: row.bytes(3), since: row.integer(4), eventID: row.text(5))
    }
}

extension AppState {
    package static let columns = "app, state, since, event_id"

    package init(_ row: some ResultRow) {
        self.init(
            app: AppKey(rawValue: row.integer(0)), state: row.bytes(1), since: row.integer(2), eventID: row.text(3))
    }
}

extension StoredAnswer {
    package static let columns = "fingerprint, status, headers, body"

    package init(_ row: some ResultRow, app: AppKey, key: String, _ columnSealer: ColumnSealer) throws(StoreError) {
        self.init(
            fingerprint: row.bytes(0), status: Int(row.integer(1)), headers: try row.pairs(2),
            body: try columnSealer.open(row.bytes(3), .answer(app, key: key)))
    }
}

extension LogMark {
    package static let columns = "sequence, time"

    package init(_ row: some ResultRow) {
        self.init(sequence: row.integer(0), time: row.integer(1))
    }
}

/// Returns the value, or throws if it is `nil`: another program must have written the column.
package func known<Value>(_ value: Value?, _ what: String, _ found: String) throws(StoreError) -> Value {
    guard let value else { throw .failed(reason: "the database holds an unknown \(what), \(found)") }
    return value
}
