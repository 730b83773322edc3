extension Schema {
    /// The tables of pull delegates.
    static let leaseTables = """
        -- How a delegate gets its events: DelegateKind. `ack_seconds` is for those that pull.
        ALTER TABLE delegates ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'webhook';
        ALTER TABLE delegates ADD COLUMN ack_seconds bigint NOT NULL DEFAULT 60;
        -- The id of the only delegate that the key opens.
        ALTER TABLE keys ADD COLUMN delegate text COLLATE "C";
        -- What consumers have pulled and not settled. `entries`: PullLease.encode. `first`: the first event without a row in
        -- `waiting`, NULL if there is none.
        CREATE TABLE leases (
            delegate   bigint NOT NULL,
            id         text COLLATE "C" NOT NULL,
            created_at bigint NOT NULL,
            expires_at bigint NOT NULL,
            entries    bytea NOT NULL,
            first      bigint,
            PRIMARY KEY (delegate, id)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX leases_by_end ON leases (delegate, expires_at, id);
        CREATE INDEX leases_by_first ON leases (delegate, first) WHERE first IS NOT NULL;
        -- AttemptRounds.unlinked
        CREATE INDEX attempts_unlinked ON attempts (delegate, id) WHERE previous = -1;
        """
}
