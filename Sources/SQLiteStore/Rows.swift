import Herald

// How rows become values. Each list of columns stands beside the function that reads it, in the same order.

extension LoggedEvent {
    static let columns = "sequence, app, id, type, subject, time, data"

    init(_ row: Statement) {
        let event = row.withBytes(6) { data in
            Event(
                app: AppKey(rawValue: row.integer(1)), id: row.text(2), type: row.text(3), subject: row.optionalText(4),
                time: row.integer(5), data: data)
        }
        self.init(sequence: row.integer(0), event: event)
    }
}

extension StoredAttempt {
    static let columns = "id, delegate, event, number, started_at, duration, status, failure, detail, excerpt"

    init(_ row: Statement) throws(StoreError) {
        let failure = try row.optionalText(7).map { text throws(StoreError) in
            try known(CallbackFailure(rawValue: text), "failure", text)
        }
        self.init(
            id: row.integer(0),
            record: AttemptRecord(
                delegate: row.integer(1), event: row.integer(2), number: Int(row.integer(3)),
                startedAt: row.integer(4), duration: row.integer(5), status: row.optionalInteger(6).map { Int($0) },
                failure: failure, detail: row.text(8), excerpt: row.bytes(9)))
    }
}

extension WaitingDelivery {
    static let columns = "delegate, event, attempts, due_at, state"

    init(_ row: Statement) throws(StoreError) {
        let state = Int(row.integer(4))
        self.init(
            delegate: row.integer(0), event: row.integer(1), attempts: Int(row.integer(2)), dueAt: row.integer(3),
            state: try known(State(rawValue: state), "state", String(state)))
    }
}

extension LanePosition {
    static let columns = "delegate, cursor, position"

    init(_ row: Statement) {
        self.init(delegate: row.integer(0), cursor: row.integer(1), position: row.integer(2))
    }
}

extension DeliveryKey {
    static let columns = "delegate, event"

    init(_ row: Statement) {
        self.init(delegate: row.integer(0), event: row.integer(1))
    }
}

extension AuthStatus {
    static let columns = "app, user_id, logged_in, user, since, event_id"

    init(_ row: Statement) {
        self.init(
            app: AppKey(rawValue: row.integer(0)), userID: row.text(1), isLoggedIn: row.integer(2) != 0,
            user: row.bytes(3), since: row.integer(4), eventID: row.text(5))
    }
}

extension AppState {
    static let columns = "app, state, since, event_id"

    init(_ row: Statement) {
        self.init(
            app: AppKey(rawValue: row.integer(0)), state: row.bytes(1), since: row.integer(2), eventID: row.text(3))
    }
}

extension StoredAnswer {
    static let columns = "fingerprint, status, headers, body"

    init(_ row: Statement) throws(StoreError) {
        self.init(
            fingerprint: row.bytes(0), status: Int(row.integer(1)), headers: try row.pairs(2), body: row.bytes(3))
    }
}

extension WebhookDelegate {
    static let columns = """
        key, app, id, status, start, created_at, updated_at, version, url, events, subjects, description, metadata, \
        max_in_flight, timeout_seconds, retry_schedule, headers, secrets
        """

    convenience init(_ row: Statement) throws(StoreError) {
        let settings = WebhookSettings(
            url: row.text(8),
            events: try row.textList(9).map { text throws(StoreError) in
                try known(EventPattern(text), "event pattern", text)
            },
            subjects: try row.textList(10), description: row.text(11), metadata: try row.pairs(12),
            headers: try row.pairs(16), maxInFlight: Int(row.integer(13)), timeoutSeconds: Int(row.integer(14)),
            retrySchedule: try row.textList(15).map { text throws(StoreError) in
                try known(Double(text), "retry delay", text)
            })
        self.init(
            app: AppKey(rawValue: row.integer(1)), key: row.integer(0), id: row.text(2),
            state: State(
                settings: settings, status: try known(Status(rawValue: row.text(3)), "status", row.text(3)),
                secrets: try row.byteLists(17).map { DelegateSecret(SigningSecret(bytes: $0)) }),
            start: row.integer(4), createdAt: row.integer(5), updatedAt: row.integer(6), version: row.integer(7))
    }
}

/// What a column may hold is known to us, unless the database was written by something else.
private func known<Value>(_ value: Value?, _ what: String, _ found: String) throws(StoreError) -> Value {
    guard let value else { throw .failed(reason: "the database holds an unknown \(what), \(found)") }
    return value
}
