/// The schema of `herald.db`, and the migration from each version to the next.
///
/// `application_id` marks the file as Herald's; `user_version` is the version of its tables. A release appends to the list of
/// migrations and never changes existing entries.
enum Schema {
    /// "HRLD".
    static let applicationID: Int64 = 0x4852_4c44

    /// The version that the first migration makes. No release has made a database of a lower one.
    static let first = 19

    /// The version that a list of migrations makes.
    static func version(after migrations: ArraySlice<String> = migrations[...]) -> Int {
        migrations.isEmpty ? 0 : first + migrations.count - 1
    }

    static let migrations = [
        """
        -- The log. `sequence` has no gaps but those of retention; the last event is never deleted, so that no number is given
        -- twice. `attributes`: pairs, NULL for none. `audience`: the one delegate that is notified. `checksum`: EventChecksum,
        -- over all other columns. An erased event keeps its row.
        CREATE TABLE events (
            sequence   INTEGER PRIMARY KEY,
            app        INTEGER NOT NULL,
            id         TEXT NOT NULL,
            type       TEXT NOT NULL,
            subject    TEXT,
            time       INTEGER NOT NULL,
            data       BLOB NOT NULL,
            attributes TEXT,
            audience   INTEGER,
            checksum   INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX events_by_id ON events (app, id);
        -- So that the list of a small app need not pass over the events of a large one. `default` has none: a server with one
        -- app pays nothing.
        CREATE INDEX events_of_apps ON events (app, sequence) WHERE app <> 1;
        -- Up to `sequence`, events had arrived at `time`.
        CREATE TABLE marks (
            time     INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX marks_by_sequence ON marks (sequence);
        -- Ranges of positions after the first event that retention has removed: nothing is missing there.
        CREATE TABLE gaps (
            first INTEGER PRIMARY KEY,
            last  INTEGER NOT NULL
        ) STRICT;
        -- What each app has in each block of 1,024 places of the log; the block in which the log ends is counted at each
        -- start. `bytes`: BlockTable.count.
        CREATE TABLE app_blocks (
            block  INTEGER NOT NULL,
            app    INTEGER NOT NULL,
            events INTEGER NOT NULL,
            bytes  INTEGER NOT NULL,
            PRIMARY KEY (block, app)
        ) STRICT, WITHOUT ROWID;
        -- What retention has removed, by Removal.Part and Removal.Cause.
        CREATE TABLE removals (
            part  TEXT NOT NULL,
            cause TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (part, cause)
        ) STRICT, WITHOUT ROWID;

        -- Deleted delegates stay as tombstones, wiped of what their owner set: no key is given twice, and their
        -- attempts keep a name. Lists are written as TextList does it. Headers, secrets and `tls`, which may have the key of a
        -- client certificate, are never shown. `secret_terms`: the scheme of each of the `secrets` and when it expires, as
        -- pairs.
        CREATE TABLE delegates (
            key             INTEGER PRIMARY KEY,
            app             INTEGER NOT NULL,
            id              TEXT NOT NULL,
            status          TEXT NOT NULL,
            status_reason   TEXT,
            start           INTEGER NOT NULL,
            created_at      INTEGER NOT NULL,
            updated_at      INTEGER NOT NULL,
            version         INTEGER NOT NULL,
            deleted_at      INTEGER,
            expires_at      INTEGER,
            failing_since   INTEGER,
            url             TEXT NOT NULL,
            events          TEXT NOT NULL,
            subjects        TEXT NOT NULL,
            filter          TEXT,
            description     TEXT NOT NULL,
            metadata        TEXT NOT NULL,
            format          TEXT NOT NULL,
            ordering        TEXT NOT NULL,
            max_in_flight   INTEGER NOT NULL,
            rate_limit      REAL,
            timeout_seconds INTEGER NOT NULL,
            retry_schedule  TEXT NOT NULL,
            lease_seconds   INTEGER,
            disable_after_seconds INTEGER NOT NULL,
            verification    TEXT NOT NULL,
            http_version    TEXT NOT NULL,
            tls             TEXT,
            headers         TEXT NOT NULL,
            secrets         BLOB NOT NULL,
            secret_terms    TEXT NOT NULL
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

        -- The outcomes of a delegate's attempts in the slot that begins at `start`. `latencies`: LatencyHistogram.text.
        CREATE TABLE statistics (
            delegate  INTEGER NOT NULL REFERENCES delegates (key),
            start     INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            failed    INTEGER NOT NULL,
            latencies TEXT NOT NULL,
            PRIMARY KEY (delegate, start)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX statistics_by_start ON statistics (start);

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

        -- The responses to requests with an idempotency key.
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

        -- `assert_formats`: whether the check includes `format` of the schema.
        CREATE TABLE event_types (
            app         INTEGER NOT NULL,
            type        TEXT NOT NULL,
            description TEXT NOT NULL,
            example     BLOB,
            schema      BLOB,
            check_mode  TEXT NOT NULL,
            assert_formats INTEGER NOT NULL,
            created_at  INTEGER NOT NULL,
            updated_at  INTEGER NOT NULL,
            version     INTEGER NOT NULL,
            PRIMARY KEY (app, type)
        ) STRICT;

        -- Access keys. `digest`: SHA-256 of a text that is kept nowhere. `scopes` as TextList writes it. `requests_per_second`:
        -- NULL: what the server allows each key.
        CREATE TABLE keys (
            id           TEXT PRIMARY KEY,
            app          INTEGER NOT NULL,
            name         TEXT NOT NULL,
            scopes       TEXT NOT NULL,
            digest       BLOB NOT NULL,
            created_at   INTEGER NOT NULL,
            expires_at   INTEGER,
            last_used_at INTEGER,
            requests_per_second INTEGER
        ) STRICT;
        -- Sessions of the dashboard, and links that open them. `digest`: SHA-256 of a text that is kept nowhere. `kind`:
        -- Session.Kind. `key`: where it comes from.
        CREATE TABLE passes (
            digest     BLOB PRIMARY KEY,
            kind       INTEGER NOT NULL,
            app        INTEGER NOT NULL,
            key        TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
        CREATE TABLE apps (
            key               INTEGER PRIMARY KEY,
            id                TEXT NOT NULL,
            name              TEXT NOT NULL,
            max_delegates     INTEGER,
            events_per_second INTEGER,
            max_stored_bytes  INTEGER,
            created_at        INTEGER NOT NULL,
            updated_at        INTEGER NOT NULL,
            version           INTEGER NOT NULL,
            deleted_at        INTEGER
        ) STRICT;
        -- Changes of delegates, keys and apps. Only added to; the oldest are removed when there are many. The last one stays, so
        -- that no number is given twice.
        CREATE TABLE audit (
            id      INTEGER PRIMARY KEY,
            app     INTEGER NOT NULL,
            time    INTEGER NOT NULL,
            actor   TEXT NOT NULL,
            address TEXT NOT NULL,
            action  TEXT NOT NULL,
            target  TEXT
        ) STRICT;

        -- One row when secrets are sealed: a value that only their key opens. See ColumnSealer.
        CREATE TABLE sealing (proof BLOB NOT NULL) STRICT;
        -- One row: random bytes of the server's own. See ServerSecret.
        CREATE TABLE server (secret BLOB NOT NULL) STRICT;
        """,
        """
        -- Events and attempts by app, slot and event type. `start`: when the slot, or after a day its hour, begins. `type`: '' for types beyond
        -- Volume.maxTypes.
        CREATE TABLE volumes (
            app       INTEGER NOT NULL,
            type      TEXT NOT NULL,
            start     INTEGER NOT NULL,
            events    INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            failed    INTEGER NOT NULL,
            PRIMARY KEY (app, start, type)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX volumes_by_start ON volumes (start);
        """,
        """
        -- The appearance of an app's dashboard for the users of its links. `portal_frame_origins` as TextList writes it.
        ALTER TABLE apps ADD COLUMN portal_title TEXT;
        ALTER TABLE apps ADD COLUMN portal_logo TEXT;
        ALTER TABLE apps ADD COLUMN portal_color TEXT;
        ALTER TABLE apps ADD COLUMN portal_language TEXT NOT NULL DEFAULT 'en';
        ALTER TABLE apps ADD COLUMN portal_frame_origins TEXT NOT NULL DEFAULT '';
        """,
        """
        -- How events become requests: the text of a Recipe, with secrets, sealed as headers are.
        ALTER TABLE delegates ADD COLUMN request TEXT;
        """,
        """
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
        """,
        """
        -- Several delegates may have one URL (WebhookSettings.repeats).
        DROP INDEX delegates_by_url;
        """,
        """
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
        """,
        """
        -- How a delegate gets its events: DelegateKind. `ack_seconds` is for those that pull.
        ALTER TABLE delegates ADD COLUMN kind TEXT NOT NULL DEFAULT 'webhook';
        ALTER TABLE delegates ADD COLUMN ack_seconds INTEGER NOT NULL DEFAULT 60;
        -- The id of the only delegate that the key opens.
        ALTER TABLE keys ADD COLUMN delegate TEXT;
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
        """,
    ]
}
