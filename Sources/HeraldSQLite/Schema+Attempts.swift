import HeraldStore

extension Schema {
    /// Attempts, and what is counted of them.
    static let attemptTables = """
        -- Every attempt, in the order of recording; the last one is never deleted. NULL: no response, no, or not known. Times in
        -- microseconds. `previous`: the attempt before it of the same delegate, 0 for none, negative if it is in no list: a list
        -- goes from one to the next, and reads no attempts of other delegates.
        -- This is the hot table: no foreign keys, and no index by delegate, which would dirty a page for each attempt
        -- when there are many delegates (it doubles the cost). Failures, what people look for, are few and have one.
        CREATE TABLE attempts (
            id         INTEGER PRIMARY KEY,
            delegate   INTEGER NOT NULL,
            event      INTEGER NOT NULL,
            number     INTEGER NOT NULL,
            started_at INTEGER NOT NULL,
            duration   INTEGER NOT NULL,
            status     INTEGER,
            failure    TEXT,
            detail     TEXT,
            excerpt    BLOB,
            is_replay  INTEGER,
            lookup     INTEGER,
            connect    INTEGER,
            tls        INTEGER,
            first_byte INTEGER,
            is_reused  INTEGER,
            peer       TEXT,
            bytes_sent INTEGER,
            bytes_received INTEGER,
            previous   INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX attempts_by_event ON attempts (event, delegate);
        CREATE INDEX attempts_failed ON attempts (delegate) WHERE NOT ifnull(status, 0) BETWEEN 200 AND 299;
        -- The last attempt of each delegate, as of the last full round. See AttemptHeads.
        CREATE TABLE attempt_heads (
            delegate INTEGER PRIMARY KEY,
            attempt  INTEGER NOT NULL
        ) STRICT;

        \(SharedTables.statistics(.sqlite))
        """
}
