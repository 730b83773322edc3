import HeraldModel
import HeraldStore

/// The writes of a transaction to the log and to values, recorded until they are sent in one message.
struct LogWrites {
    private(set) var events: [Event] = []
    private(set) var eventsByID: [NameInApp: Event] = [:]
    private(set) var statuses: [NameInApp: AuthStatus] = [:]
    private(set) var states: [AppKey: AppState] = [:]
    private(set) var answers: [NameInApp: (answer: StoredAnswer, expiresAt: Int64)] = [:]

    var isEmpty: Bool { events.isEmpty && statuses.isEmpty && states.isEmpty && answers.isEmpty }

    mutating func append(_ new: [Event]) throws(StoreError) {
        for event in new {
            let name = NameInApp(app: event.app, name: event.id)
            guard eventsByID.updateValue(event, forKey: name) == nil else {
                throw .failed(reason: "there is an event \(event.id) already")
            }
        }
        events += new
    }

    mutating func set(_ status: AuthStatus) { statuses[NameInApp(app: status.app, name: status.userID)] = status }

    mutating func set(_ state: AppState) { states[state.app] = state }

    mutating func set(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) {
        answers[NameInApp(app: app, name: key)] = (answer, expiresAt)
    }

    // MARK: Statements

    private static let append = Statement(
        """
        SELECT append_1($1::bigint, $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bytea[], $8::text[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::bigint[],
            $17::text[], $18::bigint[], $19::text[], $20::bigint)
        """)
    private static let setStatuses = Statement(
        """
        INSERT INTO auth_status (\(AuthStatus.columns))
        SELECT u.app, u.user_id, u.logged_in, coalesce(CASE u.is_same WHEN 1 THEN (SELECT s."user" FROM auth_status s
            WHERE s.app = u.app AND s.user_id = u.user_id) END, u."user"), u.since, u.event_id
        FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::text[], $7::bigint[])
            AS u(app, user_id, logged_in, "user", since, event_id, is_same)
        ON CONFLICT (app, user_id) DO UPDATE SET logged_in = excluded.logged_in, "user" = excluded."user",
            since = excluded.since, event_id = excluded.event_id
        """)
    private static let setStates = Statement(
        """
        INSERT INTO app_states (\(AppState.columns))
        SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::text[])
        ON CONFLICT (app) DO UPDATE SET state = excluded.state, since = excluded.since, event_id = excluded.event_id
        """)
    private static let setAnswers = Statement(
        """
        INSERT INTO answers (\(StoredAnswer.columns), app, key, expires_at)
        SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::bigint[])
        ON CONFLICT (app, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
            headers = excluded.headers, body = excluded.body, expires_at = excluded.expires_at
        """)

    /// The requests that write it. The first one returns the end of the log.
    /// - Parameter seen: what was read before, to be checked.
    func requests(_ seen: LogReads, _ sealer: ColumnSealer) throws(StoreError) -> [Request] {
        var requests = [Request(Self.append, appending(seen))]
        if !statuses.isEmpty {
            // In the order of the keys, so that two processes never wait for each other.
            let all = statuses.values.sorted { ($0.app.rawValue, $0.userID) < ($1.app.rawValue, $1.userID) }
            // Only the event of a status is compared: another process may have changed the data of the user since.
            let isSame = all.map { status -> Int64 in
                let read: AuthStatus? = seen.statuses[NameInApp(app: status.app, name: status.userID)] ?? nil
                return read?.user == status.user ? 1 : 0
            }
            requests.append(
                Request(Self.setStatuses) { parameters in
                    parameters.add(all) { $0.app.rawValue }
                    parameters.add(all) { $0.userID }
                    parameters.add(all) { $0.isLoggedIn ? 1 : 0 }
                    parameters.add(all) { $0.user }
                    parameters.add(all) { $0.since }
                    parameters.add(all) { $0.eventID }
                    parameters.add(isSame) { $0 }
                })
        }
        if !states.isEmpty {
            let all = states.values.sorted { $0.app.rawValue < $1.app.rawValue }
            requests.append(
                Request(Self.setStates) { parameters in
                    parameters.add(all) { $0.app.rawValue }
                    parameters.add(all) { $0.state }
                    parameters.add(all) { $0.since }
                    parameters.add(all) { $0.eventID }
                })
        }
        if !answers.isEmpty { requests.append(try answerRequest(sealer)) }
        return requests
    }

    private func answerRequest(_ sealer: ColumnSealer) throws(StoreError) -> Request {
        let all = answers.sorted { ($0.key.app.rawValue, $0.key.name) < ($1.key.app.rawValue, $1.key.name) }
        var bodies: [[UInt8]] = []
        for (name, value) in all {
            bodies.append(try sealer.seal(value.answer.body, .answer(name.app, key: name.name)))
        }
        return Request(Self.setAnswers) { parameters in
            parameters.add(all) { $0.value.answer.fingerprint }
            parameters.add(all) { Int64($0.value.answer.status) }
            parameters.add(all) { TextList.encode($0.value.answer.headers) }
            parameters.add(bodies) { $0 }
            parameters.add(all) { $0.key.app.rawValue }
            parameters.add(all) { $0.key.name }
            parameters.add(all) { $0.value.expiresAt }
        }
    }

    private func appending(_ seen: LogReads) -> Parameters {
        let attributes = events.map { $0.attributes.isEmpty ? nil : TextList.encode($0.attributes) }
        var parameters = Parameters()
        parameters.add(seen.base)
        parameters.add(events) { $0.app.rawValue }
        parameters.add(events) { $0.id }
        parameters.add(events) { $0.type }
        parameters.add(events) { $0.subject }
        parameters.add(events) { $0.time }
        parameters.add(events) { $0.data }
        parameters.add(attributes) { $0 }
        parameters.add(events) { $0.audience }
        parameters.add(Array(zip(events, attributes))) { EventChecksum.of($0.0, at: 0, attributes: $0.1) }
        seen.add(to: &parameters)
        return parameters
    }
}

/// The reads of a publishing transaction, made without a lock. Under the lock the server checks that they are still true.
struct LogReads {
    /// The end of the log when the reading began.
    let base: LogPosition
    /// The values read so far. `.some(nil)`: there was none.
    var events: [NameInApp: LoggedEvent?] = [:]
    var statuses: [NameInApp: AuthStatus?] = [:]
    var states: [AppKey: AppState?] = [:]
    var answers: [NameInApp: (answer: StoredAnswer, expiresAt: Int64)?] = [:]
    /// The latest time for which a response was looked for; milliseconds since 1970 UTC.
    var now: Int64 = 0

    var isEmpty: Bool { events.isEmpty && statuses.isEmpty && states.isEmpty && answers.isEmpty }

    init(base: LogPosition) { self.base = base }

    fileprivate func add(to parameters: inout Parameters) {
        let absent = events.filter { $0.value == nil }.map(\.key)
        parameters.add(absent) { $0.app.rawValue }
        parameters.add(absent) { $0.name }
        let statuses = Array(statuses)
        parameters.add(statuses) { $0.key.app.rawValue }
        parameters.add(statuses) { $0.key.name }
        parameters.add(statuses) { $0.value?.eventID ?? "" }
        let states = Array(states)
        parameters.add(states) { $0.key.rawValue }
        parameters.add(states) { $0.value?.eventID ?? "" }
        let unanswered = answers.filter { $0.value == nil }.map(\.key)
        parameters.add(unanswered) { $0.app.rawValue }
        parameters.add(unanswered) { $0.name }
        parameters.add(now)
    }
}
