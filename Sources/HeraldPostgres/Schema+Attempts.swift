import HeraldStore

extension Schema {
    /// Attempts, and what is counted of them.
    static let attemptTables = """
        -- Every attempt; the last one is never deleted. NULL: no answer, or nothing to tell.
        -- `previous`: the attempt before it of the same delegate, 0 for none, -1 if another process had its shard already. No index
        -- by delegate, which doubles the cost.
        CREATE TABLE attempts (
            id         bigint NOT NULL PRIMARY KEY,
            delegate   bigint NOT NULL,
            event      bigint NOT NULL,
            number     bigint NOT NULL,
            started_at bigint NOT NULL,
            duration   bigint NOT NULL,
            status     bigint,
            failure    text COLLATE "C",
            detail     text COLLATE "C",
            excerpt    bytea,
            is_replay  bigint,
            lookup     bigint,
            connect    bigint,
            tls        bigint,
            first_byte bigint,
            is_reused  bigint,
            peer       text COLLATE "C",
            bytes_sent bigint,
            bytes_received bigint,
            previous   bigint NOT NULL
        ) PARTITION BY RANGE (id);
        CREATE INDEX attempts_by_event ON attempts (event, delegate);
        CREATE INDEX attempts_failed ON attempts (delegate, id) WHERE NOT coalesce(status, 0) BETWEEN 200 AND 299;
        -- AttemptRounds.unlinked
        CREATE INDEX attempts_unlinked ON attempts (delegate, id) WHERE previous = -1;
        -- The last attempt of each delegate in the rounds that are ended.
        CREATE TABLE heads (
            delegate bigint PRIMARY KEY,
            attempt  bigint NOT NULL
        );
        \(AttemptRounds.functions)

        \(SharedTables.statistics(.postgres))
        """
}
