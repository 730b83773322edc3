extension Schema {
    /// The last values of events, and responses.
    static let valueTables = """
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
        """
}
