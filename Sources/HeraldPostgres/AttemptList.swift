import HeraldCore
import HeraldTables

/// The attempts of delegate $1 before attempt $2, newest first. No statement here reads a row of another delegate.
enum AttemptList {
    private static let isMeant = "delegate = $1 AND id < $2"
    private static let succeeded = "coalesce(status, 0) BETWEEN 200 AND 299"

    /// Follows `previous` from each attempt. It starts at $2 if that is an attempt of the delegate, or an erased one where the
    /// last search ended, and otherwise at the delegate's last attempt, $3. The chain ends where retention has removed an
    /// attempt. Erased attempts belong to no delegate, but their links remain. (The rows come from the chain itself, since a
    /// join with the table would not keep their order.)
    private static let chain = """
        WITH RECURSIVE chain AS (
            SELECT \(StoredAttempt.columns), previous, 1 AS n FROM attempts
            WHERE id = coalesce((SELECT id FROM attempts WHERE id = $2 AND delegate IN ($1, 0)), $3)
            UNION ALL
            SELECT \(linked), a.previous, n + 1 FROM chain JOIN attempts a ON a.id = chain.previous
            WHERE n < \(AttemptQuery.maxWork))
        """
    private static let linked = StoredAttempt.columns.split(separator: ", ").map { "a.\($0)" }.joined(separator: ", ")
    private static let list = "SELECT \(StoredAttempt.columns)"
    private static let ofDelegate = Statement("\(chain) \(list) FROM chain WHERE \(isMeant) LIMIT $4")
    private static let successes = Statement("\(chain) \(list) FROM chain WHERE \(isMeant) AND \(succeeded) LIMIT $4")

    /// The last attempt that such a search has looked at, if it ended because it had looked at many.
    private static let rest = Statement(
        "\(chain) SELECT min(id) FROM chain HAVING count(*) >= \(AttemptQuery.maxWork)")

    /// Failures have an index of their own: they are few, and what operators look for.
    private static let failures = Statement(
        "\(list) FROM attempts WHERE \(isMeant) AND NOT \(succeeded) ORDER BY id DESC LIMIT $3")

    /// The attempts to deliver event $3: those that succeeded ($5 = 1), those that failed ($5 = 0), or all (NULL).
    private static let ofDelivery = Statement(
        """
        \(list) FROM attempts WHERE \(isMeant) AND event = $3
        AND ($5::bigint IS NULL OR ($5 = 1) = (\(succeeded))) ORDER BY id DESC LIMIT $4
        """)

    static func request(_ query: AttemptQuery, _ heads: AttemptHeads) -> Request {
        let statement =
            switch (query.event, query.succeeded) {
            case (.some, _): ofDelivery
            case (nil, nil): ofDelegate
            case (nil, true?): successes
            case (nil, false?): failures
            }
        return Request(statement) { parameters in
            parameters.add(query.delegate)
            parameters.add(query.before ?? .max)
            if query.event != nil || query.succeeded != false {
                parameters.add(query.event ?? heads.last(of: query.delegate))
            }
            parameters.add(query.limit)
            if query.event != nil { parameters.add(query.succeeded.map { $0 ? 1 : 0 as Int64 }) }
        }
    }

    static func restRequest(_ query: AttemptQuery, _ heads: AttemptHeads) -> Request {
        Request(rest) { parameters in
            parameters.add(query.delegate)
            parameters.add(query.before ?? .max)
            parameters.add(heads.last(of: query.delegate))
        }
    }
}
