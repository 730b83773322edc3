import Herald

/// What `herald.db` looks like, and how each version became the next.
///
/// `application_id` says that a file is ours, `user_version` how many of `migrations` it has been through. A release
/// adds to the end of the list and never changes what is in it.
enum Schema {
    /// "HRLD".
    static let applicationID: Int64 = 0x4852_4c44

    static let migrations = [
        """
        -- The log. `sequence` has no gaps; the last event is never deleted, so that no number is given twice.
        CREATE TABLE events (
            sequence INTEGER PRIMARY KEY,
            app      INTEGER NOT NULL,
            id       TEXT NOT NULL,
            type     TEXT NOT NULL,
            subject  TEXT,
            time     INTEGER NOT NULL,
            data     BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX events_by_id ON events (app, id);

        -- Deleted delegates stay as tombstones, wiped of what their owner told us: no key is given twice, and their
        -- attempts keep a name. Lists are written as TextList does it. Headers and secrets are nobody's to read.
        CREATE TABLE delegates (
            key             INTEGER PRIMARY KEY,
            app             INTEGER NOT NULL,
            id              TEXT NOT NULL,
            status          TEXT NOT NULL,
            start           INTEGER NOT NULL,
            created_at      INTEGER NOT NULL,
            updated_at      INTEGER NOT NULL,
            version         INTEGER NOT NULL,
            deleted_at      INTEGER,
            url             TEXT NOT NULL,
            events          TEXT NOT NULL,
            subjects        TEXT NOT NULL,
            description     TEXT NOT NULL,
            metadata        TEXT NOT NULL,
            max_in_flight   INTEGER NOT NULL,
            timeout_seconds INTEGER NOT NULL,
            retry_schedule  TEXT NOT NULL,
            headers         TEXT NOT NULL,
            secrets         BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX delegates_by_url ON delegates (app, url) WHERE deleted_at IS NULL;

        -- Lanes that are not at the common position, which is the one row of `progress`.
        CREATE TABLE lanes (
            delegate INTEGER PRIMARY KEY REFERENCES delegates (key),
            cursor   INTEGER NOT NULL,
            position INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE progress (settled INTEGER NOT NULL) STRICT;
        INSERT INTO progress VALUES (0);

        -- Deliveries that failed so far. `state`: WaitingDelivery.State.
        CREATE TABLE waiting (
            delegate INTEGER NOT NULL REFERENCES delegates (key),
            event    INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_at   INTEGER NOT NULL,
            state    INTEGER NOT NULL,
            PRIMARY KEY (delegate, event)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX waiting_by_event ON waiting (event);
        CREATE INDEX waiting_for_retry ON waiting (due_at) WHERE state = 1;

        -- Every attempt, in the order of recording; the last one is never deleted. NULL: no answer, or nothing to tell.
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
            excerpt    BLOB
        ) STRICT;
        CREATE INDEX attempts_by_event ON attempts (event, delegate);
        CREATE INDEX attempts_failed ON attempts (delegate) WHERE NOT ifnull(status, 0) BETWEEN 200 AND 299;

        CREATE TABLE auth_status (
            app       INTEGER NOT NULL,
            user_id   TEXT NOT NULL,
            logged_in INTEGER NOT NULL,
            user      BLOB NOT NULL,
            since     INTEGER NOT NULL,
            event_id  TEXT NOT NULL,
            PRIMARY KEY (app, user_id)
        ) STRICT;
        CREATE TABLE app_states (
            app      INTEGER PRIMARY KEY,
            state    BLOB NOT NULL,
            since    INTEGER NOT NULL,
            event_id TEXT NOT NULL
        ) STRICT;

        -- What idempotency keys were answered.
        CREATE TABLE answers (
            app         INTEGER NOT NULL,
            key         TEXT NOT NULL,
            fingerprint BLOB NOT NULL,
            status      INTEGER NOT NULL,
            headers     TEXT NOT NULL,
            body        BLOB NOT NULL,
            expires_at  INTEGER NOT NULL,
            PRIMARY KEY (app, key)
        ) STRICT;
        CREATE INDEX answers_by_expiry ON answers (expires_at);
        """
    ]

    /// Brings the file to the last version, one transaction for each step: a crash leaves one version or the next.
    static func migrate(_ connection: Connection, _ migrations: [String] = Schema.migrations) throws(StoreError) {
        let found = Int(try connection.integer("PRAGMA user_version"))
        for version in migrations.indices.dropFirst(found) {
            do {
                try connection.execute("BEGIN IMMEDIATE")
                try connection.execute(migrations[version])
                try connection.execute("PRAGMA user_version = \(version + 1)")
                try connection.execute("COMMIT")
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                throw error
            }
        }
    }
}
