import HeraldModel
import HeraldStore

/// The attempts of delegate $1 before attempt $2, newest first. No statement here reads a row of another delegate.
enum AttemptList {
    private static let isMeant = "delegate = $1 AND id < $2"
    private static let succeeded = "coalesce(status, 0) BETWEEN 200 AND 299"

    /// Follows `previous` from each attempt. It starts at $2 if that is an attempt of the delegate, or an erased one where the
    /// last search ended, and otherwise at the delegate's last attempt. The chain ends where retention has removed an attempt. Erased attempts belong to no delegate, but their links remain. (The rows come from the chain itself, since a
    /// join with the table would not keep their order.)
    private static let chain = """
        WITH RECURSIVE chain AS (
            SELECT \(StoredAttempt.columns), previous, 1 AS n FROM attempts
            WHERE id = coalesce(
                (SELECT id FROM attempts WHERE id = $2 AND delegate IN ($1, 0) AND previous <> \(AttemptRounds.unlinked)),
                \(AttemptRounds.lastOfDelegate))
            UNION ALL
            SELECT \(linked), a.previous, n + 1 FROM chain JOIN attempts a ON a.id = chain.previous
            WHERE n < \(AttemptQuery.maxWork))
        """
    private static let linked = qualified(StoredAttempt.columns, by: "a")
    private static let list = "SELECT \(StoredAttempt.columns)"
    private static let ofDelegate = all(isMeant)
    private static let successes = all("\(isMeant) AND \(succeeded)")

    /// The linked attempts and the others.
    private static func all(_ condition: String) -> Statement {
        Statement(
            """
            \(chain) (\(list) FROM chain WHERE \(condition) LIMIT $5) UNION ALL
            (\(list) FROM attempts WHERE \(condition) AND previous = \(AttemptRounds.unlinked) ORDER BY id DESC LIMIT $5)
            ORDER BY id DESC LIMIT $5
            """)
    }

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

    static func request(_ query: AttemptQuery, _ heads: AttemptHeads, _ durable: DurableEnds) -> Request {
        if query.event == nil, query.succeeded != false {
            return Request(query.succeeded == nil ? ofDelegate : successes) { parameters in
                addStart(of: query, heads, durable, to: &parameters)
                parameters.add(query.limit)
            }
        }
        return Request(query.event == nil ? failures : ofDelivery) { parameters in
            parameters.add(query.delegate, query.before ?? Int64.max)
            if let event = query.event { parameters.add(event) }
            parameters.add(query.limit)
            if query.event != nil { parameters.add(query.succeeded.map { $0 ? 1 : 0 as Int64 }) }
        }
    }

    static func restRequest(_ query: AttemptQuery, _ heads: AttemptHeads, _ durable: DurableEnds) -> Request {
        Request(rest) { parameters in addStart(of: query, heads, durable, to: &parameters) }
    }

    private static func addStart(
        of query: AttemptQuery, _ heads: AttemptHeads, _ durable: DurableEnds, to parameters: inout Parameters
    ) {
        // Before `heads`, which then knows of it, or of more.
        let known = durable.attempt
        parameters.add(query.delegate, query.before ?? Int64.max, heads.last(of: query.delegate), known)
    }
}
