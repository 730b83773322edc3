/// The schema of `herald.db`, and the migration from each version to the next.
///
/// `application_id` marks the file as Herald's; `user_version` is the number of `migrations` applied. A release appends
/// to the list and never changes existing entries.
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
        """,
        """
        -- `attributes`: pairs, NULL for none. `audience`: the one delegate that is told. An erased event keeps its row.
        ALTER TABLE events ADD COLUMN attributes TEXT;
        ALTER TABLE events ADD COLUMN audience INTEGER;
        -- Up to `sequence`, events had arrived at `time`.
        CREATE TABLE marks (
            time     INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX marks_by_sequence ON marks (sequence);

        -- `secret_terms`: the scheme of each of the `secrets` and when it expires, as pairs; NULL: all v1, without an end.
        ALTER TABLE delegates ADD COLUMN filter TEXT;
        ALTER TABLE delegates ADD COLUMN format TEXT NOT NULL DEFAULT 'standard';
        ALTER TABLE delegates ADD COLUMN ordering TEXT NOT NULL DEFAULT 'none';
        ALTER TABLE delegates ADD COLUMN rate_limit REAL;
        ALTER TABLE delegates ADD COLUMN lease_seconds INTEGER;
        ALTER TABLE delegates ADD COLUMN verification TEXT NOT NULL DEFAULT 'none';
        ALTER TABLE delegates ADD COLUMN http_version TEXT NOT NULL DEFAULT '1.1';
        ALTER TABLE delegates ADD COLUMN status_reason TEXT;
        ALTER TABLE delegates ADD COLUMN expires_at INTEGER;
        ALTER TABLE delegates ADD COLUMN failing_since INTEGER;
        ALTER TABLE delegates ADD COLUMN secret_terms TEXT;

        -- NULL: no, nothing, or not known. Durations in microseconds.
        ALTER TABLE attempts ADD COLUMN is_replay INTEGER;
        ALTER TABLE attempts ADD COLUMN lookup INTEGER;
        ALTER TABLE attempts ADD COLUMN connect INTEGER;
        ALTER TABLE attempts ADD COLUMN tls INTEGER;
        ALTER TABLE attempts ADD COLUMN first_byte INTEGER;
        ALTER TABLE attempts ADD COLUMN is_reused INTEGER;
        ALTER TABLE attempts ADD COLUMN peer TEXT;
        ALTER TABLE attempts ADD COLUMN bytes_sent INTEGER;
        ALTER TABLE attempts ADD COLUMN bytes_received INTEGER;

        -- For lists by state, newest event first, of all delegates and of one. Recovery needs no index of its own.
        ALTER TABLE waiting ADD COLUMN is_replay INTEGER NOT NULL DEFAULT 0;
        DROP INDEX waiting_for_retry;
        CREATE INDEX waiting_by_state ON waiting (state, event, delegate);
        CREATE INDEX waiting_of_delegate ON waiting (delegate, state, event);

        -- Events that a delegate is told again: those after `cursor`, up to `until`.
        CREATE TABLE replays (
            id         INTEGER PRIMARY KEY AUTOINCREMENT,
            delegate   INTEGER NOT NULL REFERENCES delegates (key),
            cursor     INTEGER NOT NULL,
            until      INTEGER NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX replays_of_delegate ON replays (delegate);

        -- What became of a delegate's attempts in the slot that begins at `start`. `latencies`: LatencyHistogram.text.
        CREATE TABLE statistics (
            delegate  INTEGER NOT NULL REFERENCES delegates (key),
            start     INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            failed    INTEGER NOT NULL,
            latencies TEXT NOT NULL,
            PRIMARY KEY (delegate, start)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX statistics_by_start ON statistics (start);

        CREATE TABLE event_types (
            app         INTEGER NOT NULL,
            type        TEXT NOT NULL,
            description TEXT NOT NULL,
            example     BLOB,
            schema      BLOB,
            check_mode  TEXT NOT NULL,
            created_at  INTEGER NOT NULL,
            updated_at  INTEGER NOT NULL,
            version     INTEGER NOT NULL,
            PRIMARY KEY (app, type)
        ) STRICT;

        -- One row when secrets are sealed: a value that only their key opens. See ColumnSealer.
        CREATE TABLE sealing (proof BLOB NOT NULL) STRICT;
        """,
        """
        -- What a delegate asks of TLS, as pairs; with the key of a client certificate, so nobody's to read. NULL: nothing.
        ALTER TABLE delegates ADD COLUMN tls TEXT;
        """,
        """
        -- Who is let in. `digest`: SHA-256 of a text that is kept nowhere. `scopes` as TextList writes it.
        CREATE TABLE keys (
            id           TEXT PRIMARY KEY,
            app          INTEGER NOT NULL,
            name         TEXT NOT NULL,
            scopes       TEXT NOT NULL,
            digest       BLOB NOT NULL,
            created_at   INTEGER NOT NULL,
            expires_at   INTEGER,
            last_used_at INTEGER
        ) STRICT;
        """,
        """
        -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
        CREATE TABLE apps (
            key               INTEGER PRIMARY KEY,
            id                TEXT NOT NULL,
            name              TEXT NOT NULL,
            max_delegates     INTEGER,
            events_per_second INTEGER,
            created_at        INTEGER NOT NULL,
            updated_at        INTEGER NOT NULL,
            version           INTEGER NOT NULL,
            deleted_at        INTEGER
        ) STRICT;
        -- So that the list of a small app need not pass over the events of a large one. `default` has none: a server with one
        -- app pays nothing.
        CREATE INDEX events_of_apps ON events (app, sequence) WHERE app <> 1;
        """,
        """
        -- Who changed which delegate, key or app. Only added to; the oldest go when there are many. The last one stays, so
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
        """,
        """
        -- NULL: what the server allows each key.
        ALTER TABLE keys ADD COLUMN requests_per_second INTEGER;
        -- One row: random bytes that nobody else knows. See ServerSecret.
        CREATE TABLE server (secret BLOB NOT NULL) STRICT;
        """,
        """
        ALTER TABLE apps ADD COLUMN max_stored_bytes INTEGER;
        -- What each app has in each block of 1,024 places of the log; the block in which the log ends is counted at each
        -- start. `bytes`: BlockTable.count.
        CREATE TABLE app_blocks (
            block  INTEGER NOT NULL,
            app    INTEGER NOT NULL,
            events INTEGER NOT NULL,
            bytes  INTEGER NOT NULL,
            PRIMARY KEY (block, app)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO app_blocks SELECT sequence >> 10, app, count(*), sum(length(data) + length(CAST(id AS BLOB))
            + length(CAST(type AS BLOB)) + ifnull(length(CAST(subject AS BLOB)), 0)
            + ifnull(length(CAST(attributes AS BLOB)), 0))
            FROM events GROUP BY 1, 2;
        """,
        """
        -- Sessions of the dashboard, and links that open them. `digest`: SHA-256 of a text that is kept nowhere. `kind`:
        -- Session.Kind. `key`: where it comes from.
        CREATE TABLE passes (
            digest     BLOB PRIMARY KEY,
            kind       INTEGER NOT NULL,
            app        INTEGER NOT NULL,
            key        TEXT NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """,
        """
        -- `previous`: the attempt before it of the same delegate, 0 for none: a list goes from one to the next, and passes
        -- over nobody else's. NULL: of before there was this; the index has those, and nothing is added to it.
        ALTER TABLE attempts ADD COLUMN previous INTEGER;
        CREATE INDEX attempts_unlinked ON attempts (delegate) WHERE previous IS NULL;
        -- The last attempt of each delegate, as of the last full round. See AttemptHeads.
        CREATE TABLE attempt_heads (
            delegate INTEGER PRIMARY KEY,
            attempt  INTEGER NOT NULL
        ) STRICT;
        INSERT INTO attempt_heads SELECT delegate, max(id) FROM attempts
            WHERE delegate IN (SELECT key FROM delegates WHERE deleted_at IS NULL) GROUP BY delegate;
        """,
        """
        -- Where a replay began. NULL: of before there was this.
        ALTER TABLE replays ADD COLUMN start INTEGER;
        """,
        """
        -- Before, every delegate was disabled after five days.
        ALTER TABLE delegates ADD COLUMN disable_after_seconds INTEGER NOT NULL DEFAULT 432000;
        """,
        """
        -- `checksum`: EventChecksum, over all other columns. Events up to `through`, the one row of `unchecked`, were written
        -- before there was this, and have NULL: computing theirs now would only vouch for what may be damaged already.
        ALTER TABLE events ADD COLUMN checksum INTEGER;
        CREATE TABLE unchecked (through INTEGER NOT NULL) STRICT;
        INSERT INTO unchecked SELECT ifnull(max(sequence), 0) FROM events;
        """,
        """
        -- What retention has removed, by Removal.Part and Removal.Cause.
        CREATE TABLE removals (
            part  TEXT NOT NULL,
            cause TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (part, cause)
        ) STRICT, WITHOUT ROWID;
        -- Deliveries of a delegate that were not made because retention removed their events, and that no
        -- herald.delivery.dropped has announced yet.
        CREATE TABLE unannounced (
            delegate INTEGER PRIMARY KEY REFERENCES delegates (key),
            count    INTEGER NOT NULL
        ) STRICT;
        """,
        """
        -- Ranges of positions after the first event that retention has removed: nothing is missing there.
        CREATE TABLE gaps (
            first INTEGER PRIMARY KEY,
            last  INTEGER NOT NULL
        ) STRICT;
        """,
        """
        -- Whether the check of an event type includes `format` of its schema.
        ALTER TABLE event_types ADD COLUMN assert_formats INTEGER NOT NULL DEFAULT 0;
        """,
        """
        -- The part of `attempts` that used up no step of the retry schedule.
        ALTER TABLE waiting ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;
        """,
        """
        -- Retries of a delegate in the order of their times, for a lane with more of them than are in memory.
        CREATE INDEX waiting_by_time ON waiting (delegate, due_at, event) WHERE state = 1;
        """,
    ]
}
