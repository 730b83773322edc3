import HeraldModel
import HeraldStore

/// The attempts of delegate ?1 before attempt ?2, newest first: at most ?4, those that succeeded (?3 = 1), those that
/// failed (?3 = 0), or all (NULL). No statement here reads a row of another delegate.
enum AttemptList {
    private static let isMeant = "delegate = ?1 AND id < ?2"
    private static let succeeded = "ifnull(status, 0) BETWEEN 200 AND 299"
    private static let hasOutcome = "(?3 IS NULL OR ?3 = (\(succeeded)))"

    /// Follows `previous` from each attempt until enough are found. It starts at ?2 if that is an attempt of the
    /// delegate, or an erased one where the last search ended, and otherwise at the delegate's last attempt, ?5. The chain
    /// ends where retention has removed an attempt. Erased attempts belong to no delegate, but their links remain. (CROSS JOIN
    /// fixes the order of the join in SQLite.)
    static let ofDelegate = """
        \(chain) SELECT \(StoredAttempt.columns) FROM chain CROSS JOIN attempts ON id = link
        WHERE \(isMeant) AND \(hasOutcome) LIMIT ?4
        """

    /// The last attempt that such a search has looked at, if it ended because it had looked at many.
    static let rest = "\(chain) SELECT min(link) FROM chain HAVING count(*) >= \(AttemptQuery.maxWork)"

    private static let chain = """
        WITH RECURSIVE chain (link, before) AS (
            SELECT id, previous FROM attempts
            WHERE id = ifnull((SELECT id FROM attempts WHERE id = ?2 AND delegate IN (?1, 0)), ?5)
            UNION ALL
            SELECT id, previous FROM chain CROSS JOIN attempts ON id = before
            LIMIT \(AttemptQuery.maxWork))
        """

    /// Failures have an index of their own: they are few, and what operators look for.
    static let failures = """
        SELECT \(StoredAttempt.columns) FROM attempts WHERE \(isMeant) AND NOT \(succeeded) ORDER BY id DESC LIMIT ?4
        """

    /// The attempts to deliver event ?5.
    static let ofDelivery = """
        SELECT \(StoredAttempt.columns) FROM attempts WHERE \(isMeant) AND \(hasOutcome) AND event = ?5
        ORDER BY id DESC LIMIT ?4
        """
}
