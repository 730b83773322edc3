package import HeraldModel

extension SharedStatements {
    package func search(_ query: DeliveryQuery) throws(StoreError) -> DeliveryPage {
        // Where most deliveries are the app's own, few make a page: the end of a large part takes longer to find.
        if query.filter == nil, query.limit < query.passed / 4 {
            let page = try search(query, passing: 4 * query.limit)
            if page.rest == nil || page.rows.count == query.limit { return page }
        }
        return try search(query, passing: query.passed)
    }

    private func search(_ query: DeliveryQuery, passing passed: Int) throws(StoreError) -> DeliveryPage {
        guard let end = try end(of: query, passing: passed) else { return try find(query) }
        var part = query
        part.events = end...(query.events?.upperBound ?? .max)
        var found = try find(part)
        if found.rest == nil { found.rest = DeliveryKey(delegate: 0, event: end) }
        return found
    }

    /// The oldest event that a search reads; `nil` if its conditions bound it.
    private func end(of query: DeliveryQuery, passing passed: Int) throws(StoreError) -> LogPosition? {
        guard query.delegate == nil, query.event == nil else { return nil }
        // Of the event of a position without a delegate, all were read.
        let read = query.before.map { $0.delegate > 0 ? $0.event : max(1, $0.event) - 1 }
        let last = min(query.events?.upperBound ?? .max, read ?? .max)
        var end: LogPosition?
        for state in query.states {
            let values: [any ColumnConvertible] = [
                state.rawValue, query.events?.lowerBound ?? Int64.min, last, passed,
            ]
            guard let found = try position(.delivery(.endOfPart), values) else { continue }
            end = max(end ?? found, found)
        }
        return end
    }
}
