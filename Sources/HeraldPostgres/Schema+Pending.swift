extension Schema {
    /// Scheduled events.
    static let pendingTables = """
        -- Events that are published at `due_at`, and by id only until then. `bytes`: Event.storedBytes.
        CREATE TABLE pending (
            key        bigint PRIMARY KEY,
            app        bigint NOT NULL,
            id         text COLLATE "C" NOT NULL,
            type       text COLLATE "C" NOT NULL,
            subject    text COLLATE "C",
            time       bigint NOT NULL,
            data       bytea NOT NULL,
            attributes text COLLATE "C",
            due_at     bigint NOT NULL,
            bytes      bigint NOT NULL
        );
        CREATE UNIQUE INDEX pending_by_id ON pending (app, id);
        CREATE INDEX pending_by_time ON pending (due_at, key);
        CREATE INDEX pending_of_apps ON pending (app, due_at, key);
        CREATE INDEX pending_by_subject ON pending (app, subject) WHERE subject IS NOT NULL;
        -- Of each app that has some, or had some.
        CREATE TABLE pending_counts (
            app    bigint PRIMARY KEY,
            events bigint NOT NULL,
            bytes  bigint NOT NULL
        );
        -- Events that were published with SQL and are not valid, with the reason.
        CREATE TABLE pending_refused (
            key        bigint PRIMARY KEY,
            app        bigint NOT NULL,
            id         text COLLATE "C" NOT NULL,
            type       text COLLATE "C" NOT NULL,
            subject    text COLLATE "C",
            time       bigint NOT NULL,
            data       bytea NOT NULL,
            deliver_at bigint,
            reason     text COLLATE "C" NOT NULL,
            refused_at bigint NOT NULL
        );
        """
}
