extension Schema {
    /// How far deliveries are, and those that wait.
    static let deliveryTables = """
        -- Lanes that are not at the position of their shard.
        CREATE TABLE lanes (
            delegate bigint PRIMARY KEY,
            cursor   bigint NOT NULL,
            position bigint NOT NULL
        ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

        -- Attempts, by the first and the last id, that were written since the positions of these shards (a bit each).
        CREATE TABLE attempts_ahead (
            first  bigint PRIMARY KEY,
            last   bigint NOT NULL,
            shards bigint NOT NULL
        ) WITH (fillfactor = 50);

        -- Deliveries that failed so far. `state`: WaitingDelivery.State. `request`: the change that has asked for the delivery, or for
        -- its end, 0 for none. `uncounted`: the part of `attempts` that used up no step of the retry schedule.
        CREATE TABLE waiting (
            delegate  bigint NOT NULL,
            event     bigint NOT NULL,
            attempts  bigint NOT NULL,
            due_at    bigint NOT NULL,
            state     bigint NOT NULL,
            is_replay bigint NOT NULL,
            request   bigint NOT NULL DEFAULT 0,
            uncounted bigint NOT NULL,
            PRIMARY KEY (delegate, event)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX waiting_by_event ON waiting (event);
        CREATE INDEX waiting_by_state ON waiting (state, event, delegate);
        CREATE INDEX waiting_of_delegate ON waiting (delegate, state, event);
        -- Retries of a delegate in the order of their times, for a lane with more of them than are in memory.
        CREATE INDEX waiting_by_time ON waiting (delegate, due_at, event) WHERE state = 1;
        -- Deliveries of a delegate that were not made because retention removed their events, and that no
        -- herald.delivery.dropped has announced yet.
        CREATE TABLE unannounced (
            delegate bigint PRIMARY KEY,
            count    bigint NOT NULL
        );

        -- Events that a delegate is notified of again: those after `cursor`, up to `until`, from `start` on.
        CREATE TABLE replays (
            id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            delegate   bigint NOT NULL,
            cursor     bigint NOT NULL,
            until      bigint NOT NULL,
            created_at bigint NOT NULL,
            start      bigint NOT NULL
        );
        CREATE INDEX replays_of_delegate ON replays (delegate);

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
        """
}
