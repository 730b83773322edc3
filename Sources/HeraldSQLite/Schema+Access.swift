extension Schema {
    /// Apps, who is let in, who has changed what, and the server's own secrets.
    static let accessTables = """
        -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
        -- `portal_…`: the appearance of its dashboard for the users of its links. `portal_frame_origins` as TextList writes it.
        CREATE TABLE apps (
            key               INTEGER PRIMARY KEY,
            id                TEXT NOT NULL,
            name              TEXT NOT NULL,
            max_delegates     INTEGER,
            events_per_second INTEGER,
            max_stored_bytes  INTEGER,
            portal_title      TEXT,
            portal_logo       TEXT,
            portal_color      TEXT,
            portal_language   TEXT NOT NULL,
            portal_frame_origins TEXT NOT NULL,
            created_at        INTEGER NOT NULL,
            updated_at        INTEGER NOT NULL,
            version           INTEGER NOT NULL,
            deleted_at        INTEGER
        ) STRICT;
        -- Access keys. `digest`: SHA-256 of a text that is kept nowhere. `scopes` as TextList writes it. `delegate`: the id of
        -- the only one that the key opens. `requests_per_second`: NULL: what the server allows each key.
        CREATE TABLE keys (
            id           TEXT PRIMARY KEY,
            app          INTEGER NOT NULL,
            name         TEXT NOT NULL,
            scopes       TEXT NOT NULL,
            delegate     TEXT,
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
        """
}
