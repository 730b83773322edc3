import HeraldCore

/// The attempts of delegate ?1 before the one of ?2, newest first: at most ?4, of those that succeeded (?3 = 1) or did not
/// (?3 = 0) or of all (NULL). No statement here reads a row of another delegate.
enum AttemptList {
    private static let isMeant = "delegate = ?1 AND id < ?2"
    private static let succeeded = "ifnull(status, 0) BETWEEN 200 AND 299"
    private static let hasOutcome = "(?3 IS NULL OR ?3 = (\(succeeded)))"

    /// From one attempt to the one before it, until enough are found. The first is that of ?2, when it is the delegate's, or
    /// else the last one there is, ?5. Where none is named is an attempt of before they were linked: those have an index, to
    /// which nothing is added. What retention has cut ends it. (An erased one is nobody's, and leads on. The joins are CROSS
    /// joins because those leave SQLite no choice of the order.)
    static let ofDelegate = """
        WITH RECURSIVE chain (link, before) AS (
            SELECT id, previous FROM attempts
            WHERE id = ifnull((SELECT id FROM attempts WHERE id = ?2 AND delegate = ?1), ?5)
            UNION ALL
            SELECT id, previous FROM chain CROSS JOIN attempts ON id = ifnull(before,
                (SELECT max(id) FROM attempts WHERE delegate = ?1 AND previous IS NULL AND id < link)))
        SELECT \(StoredAttempt.columns) FROM chain CROSS JOIN attempts ON id = link
        WHERE \(isMeant) AND \(hasOutcome) LIMIT ?4
        """

    /// By an index of their own: they are few, and what people look for.
    static let failures = """
        SELECT \(StoredAttempt.columns) FROM attempts WHERE \(isMeant) AND NOT \(succeeded) ORDER BY id DESC LIMIT ?4
        """

    /// To tell of the event ?5.
    static let ofDelivery = """
        SELECT \(StoredAttempt.columns) FROM attempts WHERE \(isMeant) AND \(hasOutcome) AND event = ?5
        ORDER BY id DESC LIMIT ?4
        """
}
