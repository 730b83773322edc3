extension Schema {
    /// Delegates and event types.
    static let delegateTables = """
        -- Deleted delegates stay as tombstones, wiped of what their owner set: no key is given twice, and their
        -- attempts keep a name. Lists are written as TextList does it. `kind`: how a delegate gets its events, DelegateKind.
        -- `ack_seconds` is for those that pull. Headers, secrets and `tls`, which may have the key of a client certificate, are
        -- never shown. `request`: how events become requests, the text of a Recipe; it has secrets, and is sealed as headers
        -- are. `secret_terms`: the scheme of each of the `secrets` and when it expires, as pairs.
        CREATE TABLE delegates (
            key             INTEGER PRIMARY KEY,
            app             INTEGER NOT NULL,
            id              TEXT NOT NULL,
            kind            TEXT NOT NULL,
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
            ack_seconds     INTEGER NOT NULL,
            retry_schedule  TEXT NOT NULL,
            lease_seconds   INTEGER,
            disable_after_seconds INTEGER NOT NULL,
            verification    TEXT NOT NULL,
            http_version    TEXT NOT NULL,
            tls             TEXT,
            headers         TEXT NOT NULL,
            request         TEXT,
            secrets         BLOB NOT NULL,
            secret_terms    TEXT NOT NULL
        ) STRICT;

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
        """
}
