import HeraldCore
import HeraldStore

/// Lists of deliveries with a row of their own, newest event first.
enum WaitingList {
    /// Statements for one state each, since only then an index has the rows in the order of the list: for all delegates and for
    /// one ($8).
    private static let pageOfAll = page("")
    private static let pageOfDelegate = page("AND delegate = $8")
    private static let countOfAll = Statement("SELECT count(*) \(isMeant)")
    private static let countOfDelegate = Statement("SELECT count(*) \(isMeant) AND delegate = $5")

    private static let isMeant = """
        FROM waiting WHERE state = $1 AND event BETWEEN $2 AND $3
        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND app = $4)
        """

    private static func page(_ more: String) -> Statement {
        Statement(
            """
            SELECT \(WaitingDelivery.columnsWithSubject) \(isMeant) AND (event, delegate) < ($5, $6) \(more)
            ORDER BY event DESC, delegate DESC LIMIT $7
            """)
    }

    static func page(
        _ query: DeliveryQuery, _ run: (Request) throws(StoreError) -> Rows
    ) throws(StoreError) -> [WaitingDelivery] {
        let before = query.before ?? DeliveryKey(delegate: .max, event: .max)
        var found: [WaitingDelivery] = []
        for state in query.states {
            let request = Request(query.delegate == nil ? pageOfAll : pageOfDelegate) { parameters in
                add(query, state, through: before.event, to: &parameters)
                parameters.add(before.event)
                parameters.add(before.delegate)
                parameters.add(query.limit)
                if let delegate = query.delegate { parameters.add(delegate) }
            }
            found += try run(request).map { row throws(StoreError) in try WaitingDelivery(row) }
        }
        if query.states.count > 1 { found.sort { ($0.event, $0.delegate) > ($1.event, $1.delegate) } }
        return Array(found.prefix(query.limit))
    }

    static func count(
        _ query: DeliveryQuery, _ run: (Request) throws(StoreError) -> Rows
    ) throws(StoreError) -> Int {
        var count = 0
        for state in query.states {
            let request = Request(query.delegate == nil ? countOfAll : countOfDelegate) { parameters in
                add(query, state, through: .max, to: &parameters)
                if let delegate = query.delegate { parameters.add(delegate) }
            }
            count += Int(try run(request).integer)
        }
        return count
    }

    // MARK: A part of the rows of one delegate

    private static func rows(_ condition: String, by order: String) -> Statement {
        Statement(
            """
            SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting
            WHERE delegate = $1 AND state = 1 AND \(condition) ORDER BY \(order) LIMIT $2
            """)
    }

    private static let dueRows = rows("(due_at, event) > ($3, $4)", by: "due_at, event")
    private static let rowsOfSubject = rows(
        "event >= $3 AND (SELECT subject FROM events WHERE sequence = waiting.event) = $4", by: "event")
    private static let rowsOfEvents = rows("event BETWEEN $3 AND $4", by: "event")

    static func request(_ query: StoredRowsQuery) -> Request {
        let statement =
            switch query.part {
            case .due: dueRows
            case .subject: rowsOfSubject
            case .events: rowsOfEvents
            }
        return Request(statement) { parameters in
            parameters.add(query.delegate)
            parameters.add(query.limit)
            switch query.part {
            case .due(let time, let event):
                parameters.add(time)
                parameters.add(event)
            case .subject(let subject, let first):
                parameters.add(first)
                parameters.add(subject)
            case .events(let range):
                parameters.add(range.lowerBound)
                parameters.add(range.upperBound)
            }
        }
    }

    private static func add(
        _ query: DeliveryQuery, _ state: WaitingDelivery.State, through last: LogPosition,
        to parameters: inout Parameters
    ) {
        parameters.add(state.rawValue)
        parameters.add(max(query.event ?? .min, query.events?.lowerBound ?? .min))
        parameters.add(min(query.event ?? .max, query.events?.upperBound ?? .max, last))
        parameters.add(query.app.rawValue)
    }
}
