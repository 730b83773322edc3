import HeraldModel
import HeraldStore

/// The statements that look up what a transaction asks for, several of a kind in one.
enum LogQueries {
    static let events = Statement(
        """
        SELECT \(LoggedEvent.columns), n FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(a, i, n)
        JOIN events ON app = a AND id = i
        """)
    static let statuses = Statement(
        """
        SELECT \(AuthStatus.columns) FROM unnest($1::bigint[], $2::text[]) AS asked(a, u)
        JOIN auth_status ON app = a AND user_id = u
        """)
    static let states = Statement("SELECT \(AppState.columns) FROM app_states WHERE app = ANY($1::bigint[])")
    static let answers = Statement(
        """
        SELECT \(StoredAnswer.columns), app, key, expires_at FROM unnest($1::bigint[], $2::text[]) AS asked(a, k)
        JOIN answers ON app = a AND key = k
        """)

    static func request(_ statement: Statement, _ names: [NameInApp]) -> Request {
        Request(statement) { parameters in
            parameters.add(names) { $0.app.rawValue }
            parameters.add(names) { $0.name }
        }
    }

    static func statesRequest(_ apps: [AppKey]) -> Request {
        Request(states) { parameters in parameters.add(apps) { $0.rawValue } }
    }

    static func events(
        _ rows: Rows, of names: [NameInApp], _ reading: EventReading
    ) throws(StoreError) -> [NameInApp: LoggedEvent?] {
        let found = try rows.map { row throws(StoreError) in
            let index = Int(row.figure(Int32(LoggedEvent.columnCount))) - 1
            guard names.indices.contains(index) else { throw .failed(reason: "the server returned a wrong row") }
            return (names[index], try reading.event(row, app: names[index].app, id: names[index].name))
        }
        return values(found, of: names)
    }

    static func statuses(_ rows: Rows, of names: [NameInApp]) throws(StoreError) -> [NameInApp: AuthStatus?] {
        let found: [AuthStatus] = try rows.values()
        return values(found.map { (NameInApp(app: $0.app, name: $0.userID), $0) }, of: names)
    }

    static func states(_ rows: Rows, of apps: [AppKey]) throws(StoreError) -> [AppKey: AppState?] {
        let found: [AppState] = try rows.values()
        return values(found.map { ($0.app, $0) }, of: apps)
    }

    typealias FoundAnswer = (answer: StoredAnswer, expiresAt: Int64)

    static func answers(
        _ rows: Rows, of names: [NameInApp], _ sealer: ColumnSealer
    ) throws(StoreError) -> [NameInApp: FoundAnswer?] {
        let found = try rows.map { row throws(StoreError) -> (NameInApp, FoundAnswer) in
            let name = NameInApp(app: try row.app(4), name: row.text(5))
            return (name, (try StoredAnswer(row, app: name.app, key: name.name, sealer), row.integer(6)))
        }
        return values(found, of: names)
    }

    /// The values that were found, with `nil` for those that were not.
    private static func values<Key: Hashable, Value>(_ found: [(Key, Value)], of keys: [Key]) -> [Key: Value?] {
        var values = [Key: Value?](keys.map { ($0, .none) }) { $1 }
        for (key, value) in found { values.updateValue(value, forKey: key) }
        return values
    }
}

extension LogReads {
    /// Reads what a transaction has asked for and was not known.
    /// - Returns: whether all of it is absent.
    mutating func read(_ missing: LogReads, with writer: Writer) throws(StoreError) -> Bool {
        now = max(now, missing.now)
        if missing.isEmpty { return true }
        let names = (Array(missing.events.keys), Array(missing.statuses.keys), Array(missing.answers.keys))
        let apps = Array(missing.states.keys)
        let rows = try writer.run([
            LogQueries.request(LogQueries.events, names.0), LogQueries.request(LogQueries.statuses, names.1),
            LogQueries.request(LogQueries.answers, names.2), LogQueries.statesRequest(apps),
        ])
        let isAbsent = rows.allSatisfy { $0.count == 0 }
        events.merge(try LogQueries.events(rows[0], of: names.0, writer.reading)) { $1 }
        statuses.merge(try LogQueries.statuses(rows[1], of: names.1)) { $1 }
        answers.merge(try LogQueries.answers(rows[2], of: names.2, writer.sealer)) { $1 }
        states.merge(try LogQueries.states(rows[3], of: apps)) { $1 }
        return isAbsent
    }
}
