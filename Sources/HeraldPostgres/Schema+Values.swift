extension Schema {
    /// The last values of events, and responses.
    static let valueTables = """
        CREATE TABLE auth_status (
            app       bigint NOT NULL,
            user_id   text COLLATE "C" NOT NULL,
            logged_in bigint NOT NULL,
            "user"    bytea NOT NULL,
            since     bigint NOT NULL,
            event_id  text COLLATE "C" NOT NULL,
            PRIMARY KEY (app, user_id)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
        CREATE TABLE app_states (
            app      bigint PRIMARY KEY,
            state    bytea NOT NULL,
            since    bigint NOT NULL,
            event_id text COLLATE "C" NOT NULL
        ) WITH (fillfactor = 50);
        -- What idempotency keys were answered.
        CREATE TABLE answers (
            app         bigint NOT NULL,
            key         text COLLATE "C" NOT NULL,
            fingerprint bytea NOT NULL,
            status      bigint NOT NULL,
            headers     text COLLATE "C" NOT NULL,
            body        bytea NOT NULL,
            expires_at  bigint NOT NULL,
            PRIMARY KEY (app, key)
        );
        CREATE INDEX answers_by_expiry ON answers (expires_at);
        """
}
