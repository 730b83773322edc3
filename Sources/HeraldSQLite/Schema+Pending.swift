extension Schema {
    /// Scheduled events.
    static let pendingTables = """
        -- Events that are published at `due_at`, and by id only until then. `bytes`: Event.storedBytes.
        CREATE TABLE pending (
            key        INTEGER PRIMARY KEY,
            app        INTEGER NOT NULL,
            id         TEXT NOT NULL,
            type       TEXT NOT NULL,
            subject    TEXT,
            time       INTEGER NOT NULL,
            data       BLOB NOT NULL,
            attributes TEXT,
            due_at     INTEGER NOT NULL,
            bytes      INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX pending_by_id ON pending (app, id);
        CREATE INDEX pending_by_time ON pending (due_at, key);
        CREATE INDEX pending_of_apps ON pending (app, due_at, key);
        CREATE INDEX pending_by_subject ON pending (app, subject) WHERE subject IS NOT NULL;
        -- Of each app that has some, or had some.
        CREATE TABLE pending_counts (
            app    INTEGER PRIMARY KEY,
            events INTEGER NOT NULL,
            bytes  INTEGER NOT NULL
        ) STRICT;
        -- Events that were published with SQL, in a database that has moved here, and were not valid.
        CREATE TABLE pending_refused (
            key        INTEGER PRIMARY KEY,
            app        INTEGER NOT NULL,
            id         TEXT NOT NULL,
            type       TEXT NOT NULL,
            subject    TEXT,
            time       INTEGER NOT NULL,
            data       BLOB NOT NULL,
            deliver_at INTEGER,
            reason     TEXT NOT NULL,
            refused_at INTEGER NOT NULL
        ) STRICT;
        """
}
