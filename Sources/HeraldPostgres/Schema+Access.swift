extension Schema {
    /// Apps, who is let in, who has changed what, and the server's own secrets.
    static let accessTables = """
        -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
        -- `portal_…`: the appearance of its dashboard for the users of its links. `portal_frame_origins` as TextList writes it.
        CREATE TABLE apps (
            key               bigint PRIMARY KEY,
            id                text COLLATE "C" NOT NULL,
            name              text COLLATE "C" NOT NULL,
            max_delegates     bigint,
            events_per_second bigint,
            max_stored_bytes  bigint,
            portal_title      text COLLATE "C",
            portal_logo       text COLLATE "C",
            portal_color      text COLLATE "C",
            portal_language   text COLLATE "C" NOT NULL,
            portal_frame_origins text COLLATE "C" NOT NULL,
            created_at        bigint NOT NULL,
            updated_at        bigint NOT NULL,
            version           bigint NOT NULL,
            deleted_at        bigint
        );
        -- Who is let in. `digest`: SHA-256 of a text that is kept nowhere. `delegate`: the id of the only one that the key opens.
        CREATE TABLE keys (
            app          bigint NOT NULL,
            id           text COLLATE "C" PRIMARY KEY,
            name         text COLLATE "C" NOT NULL,
            scopes       text COLLATE "C" NOT NULL,
            delegate     text COLLATE "C",
            digest       bytea NOT NULL,
            created_at   bigint NOT NULL,
            expires_at   bigint,
            last_used_at bigint,
            requests_per_second bigint
        );
        CREATE TABLE passes (
            digest     bytea PRIMARY KEY,
            kind       bigint NOT NULL,
            app        bigint NOT NULL,
            key        text COLLATE "C" NOT NULL,
            expires_at bigint NOT NULL
        );
        -- Who changed which delegate, key or app. Only added to; the oldest go when there are many.
        CREATE TABLE audit (
            id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            app     bigint NOT NULL,
            time    bigint NOT NULL,
            actor   text COLLATE "C" NOT NULL,
            address text COLLATE "C" NOT NULL,
            action  text COLLATE "C" NOT NULL,
            target  text COLLATE "C"
        );

        -- `secret`: ServerSecret. `proof`: a value that only the master key opens, NULL if secrets are not encrypted.
        CREATE TABLE server (
            secret bytea,
            proof  bytea
        );
        INSERT INTO server VALUES (NULL, NULL);
        """
}
