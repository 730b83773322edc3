extension Schema {
    /// How far deliveries are, and those that wait.
    static let deliveryTables = """
        -- Lanes that are not at the common position, which is the one row of `progress`.
        CREATE TABLE lanes (
            delegate INTEGER PRIMARY KEY REFERENCES delegates (key),
            cursor   INTEGER NOT NULL,
            position INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE progress (settled INTEGER NOT NULL) STRICT;
        INSERT INTO progress VALUES (0);

        -- Deliveries that failed so far. `state`: WaitingDelivery.State. `uncounted`: the part of `attempts` that used up no
        -- step of the retry schedule.
        CREATE TABLE waiting (
            delegate  INTEGER NOT NULL REFERENCES delegates (key),
            event     INTEGER NOT NULL,
            attempts  INTEGER NOT NULL,
            due_at    INTEGER NOT NULL,
            state     INTEGER NOT NULL,
            is_replay INTEGER NOT NULL,
            uncounted INTEGER NOT NULL,
            PRIMARY KEY (delegate, event)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX waiting_by_event ON waiting (event);
        -- For lists by state, newest event first, of all delegates and of one. Recovery needs no index of its own.
        CREATE INDEX waiting_by_state ON waiting (state, event, delegate);
        CREATE INDEX waiting_of_delegate ON waiting (delegate, state, event);
        -- Retries of a delegate in the order of their times, for a lane with more of them than are in memory.
        CREATE INDEX waiting_by_time ON waiting (delegate, due_at, event) WHERE state = 1;
        -- Deliveries of a delegate that were not made because retention removed their events, and that no
        -- herald.delivery.dropped has announced yet.
        CREATE TABLE unannounced (
            delegate INTEGER PRIMARY KEY REFERENCES delegates (key),
            count    INTEGER NOT NULL
        ) STRICT;

        -- Events that a delegate is notified of again: those after `cursor`, up to `until`, from `start` on.
        CREATE TABLE replays (
            id         INTEGER PRIMARY KEY AUTOINCREMENT,
            delegate   INTEGER NOT NULL REFERENCES delegates (key),
            cursor     INTEGER NOT NULL,
            until      INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            start      INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX replays_of_delegate ON replays (delegate);

        -- What consumers have pulled and not settled. `entries`: PullLease.encode. `first`: the first event without a row in
        -- `waiting`, NULL if there is none.
        CREATE TABLE leases (
            delegate   INTEGER NOT NULL REFERENCES delegates (key),
            id         TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            entries    BLOB NOT NULL,
            first      INTEGER,
            PRIMARY KEY (delegate, id)
        ) STRICT;
        CREATE INDEX leases_by_end ON leases (delegate, expires_at, id);
        CREATE INDEX leases_by_first ON leases (delegate, first) WHERE first IS NOT NULL;
        """
}
