import HeraldCore
import HeraldStore

/// Lists of deliveries with a row of their own, newest event first.
struct WaitingList {
    /// Statements for one state each, since only then an index has the rows in the order of the list: for all delegates
    /// and for one.
    private let ofAll, ofDelegate, countOfAll, countOfDelegate: Statement

    init(_ connection: Connection) throws(StoreError) {
        ofAll = try Statement(connection, WaitingList.page(WaitingList.ofAll))
        ofDelegate = try Statement(connection, WaitingList.page(WaitingList.ofDelegate))
        countOfAll = try Statement(connection, "SELECT count(*) \(WaitingList.ofAll)")
        countOfDelegate = try Statement(connection, "SELECT count(*) \(WaitingList.ofDelegate)")
    }

    // For one delegate the primary key would do as well, but reads its rows of all states.
    static let ofAll = "FROM waiting INDEXED BY waiting_by_state WHERE \(isMeant)"
    static let ofDelegate = "FROM waiting INDEXED BY waiting_of_delegate WHERE delegate = ?5 AND \(isMeant)"

    private static let isMeant = """
        state = ?1 AND event BETWEEN ?2 AND ?3 AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND app = ?4)
        """

    static func page(_ rows: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsWithSubject) \(rows) AND (event, delegate) < (?6, ?7)
        ORDER BY event DESC, delegate DESC LIMIT ?8
        """
    }

    func page(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] {
        let before = query.before ?? DeliveryKey(delegate: .max, event: .max)
        let statement = query.delegate == nil ? ofAll : ofDelegate
        var found: [WaitingDelivery] = []
        for state in query.states {
            bind(statement, query, state, through: before.event)
            statement.bind(6, before.event)
            statement.bind(7, before.delegate)
            statement.bind(8, Int64(query.limit))
            found += try statement.rows { row throws(StoreError) in try WaitingDelivery(row) }
        }
        if query.states.count > 1 { found.sort { ($0.event, $0.delegate) > ($1.event, $1.delegate) } }
        return Array(found.prefix(query.limit))
    }

    func count(_ query: DeliveryQuery) throws(StoreError) -> Int {
        let statement = query.delegate == nil ? countOfAll : countOfDelegate
        var count = 0
        for state in query.states {
            bind(statement, query, state, through: .max)
            count += Int(try statement.row { $0.integer(0) } ?? 0)
        }
        return count
    }

    private func bind(
        _ statement: Statement, _ query: DeliveryQuery, _ state: WaitingDelivery.State, through last: LogPosition
    ) {
        statement.bind(1, Int64(state.rawValue))
        statement.bind(2, max(query.event ?? .min, query.events?.lowerBound ?? .min))
        statement.bind(3, min(query.event ?? .max, query.events?.upperBound ?? .max, last))
        statement.bind(4, query.app.rawValue)
        if let delegate = query.delegate { statement.bind(5, delegate) }
    }
}
