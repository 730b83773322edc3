/// The tables that both databases have, as the first migration makes them. Never change them, not even a space: `herald check`
/// compares the text that SQLite stores. Add migrations.
package enum SharedTables {
    /// The size of each app in each block of the log, and the counts of removed rows.
    package static func blocks(_ dialect: SQLDialect) -> String {
        let (integer, text, _) = dialect.types
        return """
            -- What each app has in each block of 1,024 places of the log; the block in which the log ends is counted at each
            -- start. `bytes`: Event.storedBytes.
            CREATE TABLE app_blocks (
                block  \(integer) NOT NULL,
                app    \(integer) NOT NULL,
                events \(integer) NOT NULL,
                bytes  \(integer) NOT NULL,
                PRIMARY KEY (block, app)
            )\(dialect.either(" STRICT, WITHOUT ROWID", ""));
            -- What retention has removed, by Removal.Part and Removal.Cause.
            CREATE TABLE removals (
                part  \(text) NOT NULL,
                cause \(text) NOT NULL,
                count \(integer) NOT NULL,
                PRIMARY KEY (part, cause)
            )\(dialect.either(" STRICT, WITHOUT ROWID", ""));
            """
    }

    /// Counts of attempts and events.
    package static func statistics(_ dialect: SQLDialect) -> String {
        let (integer, text, _) = dialect.types
        return """
            -- The outcomes of a delegate's attempts in the slot that begins at `start`. `latencies`: LatencyHistogram.text.
            CREATE TABLE statistics (
                delegate  \(integer) NOT NULL\(dialect.ofDelegate),
                start     \(integer) NOT NULL,
                delivered \(integer) NOT NULL,
                failed    \(integer) NOT NULL,
                latencies \(text) NOT NULL,
                PRIMARY KEY (delegate, start)
            )\(dialect.either(" STRICT, WITHOUT ROWID", ""));
            CREATE INDEX statistics_by_start ON statistics (start);
            -- Events and attempts by app, slot and event type. `start`: when the slot, or after a day its hour, begins. `type`: ''
            -- for types beyond Volume.maxTypes.
            CREATE TABLE volumes (
                app       \(integer) NOT NULL,
                type      \(text) NOT NULL,
                start     \(integer) NOT NULL,
                events    \(integer) NOT NULL,
                delivered \(integer) NOT NULL,
                failed    \(integer) NOT NULL,
                PRIMARY KEY (app, start, type)
            )\(dialect.either(" STRICT, WITHOUT ROWID", " WITH (fillfactor = 70)"));
            CREATE INDEX volumes_by_start ON volumes (start);
            """
    }

    /// Delegates and event types.
    package static func delegates(_ dialect: SQLDialect) -> String {
        let (integer, text, blob) = dialect.types
        return """
            -- Deleted delegates stay as tombstones, wiped of what their owner set: no key is given twice, and their
            -- attempts keep a name. Lists are written as TextList does it. `kind`: how a delegate gets its events, DelegateKind.
            -- `ack_seconds` is for those that pull. Headers, secrets and `tls`, which may have the key of a client certificate, are
            -- never shown. `request`: how events become requests, the text of a Recipe; it has secrets, and is sealed as headers
            -- are. `secret_terms`: the scheme of each of the `secrets` and when it expires, as pairs.
            CREATE TABLE delegates (
                key             \(integer) PRIMARY KEY,
                app             \(integer) NOT NULL,
                id              \(text) NOT NULL,
                kind            \(text) NOT NULL,
                status          \(text) NOT NULL,
                status_reason   \(text),
                start           \(integer) NOT NULL,
                created_at      \(integer) NOT NULL,
                updated_at      \(integer) NOT NULL,
                version         \(integer) NOT NULL,
                deleted_at      \(integer),
                expires_at      \(integer),
                failing_since   \(integer),
                url             \(text) NOT NULL,
                events          \(text) NOT NULL,
                subjects        \(text) NOT NULL,
                filter          \(text),
                description     \(text) NOT NULL,
                metadata        \(text) NOT NULL,
                format          \(text) NOT NULL,
                ordering        \(text) NOT NULL,
                max_in_flight   \(integer) NOT NULL,
                rate_limit      \(dialect.either("REAL", "double precision")),
                timeout_seconds \(integer) NOT NULL,
                ack_seconds     \(integer) NOT NULL,
                retry_schedule  \(text) NOT NULL,
                lease_seconds   \(integer),
                disable_after_seconds \(integer) NOT NULL,
                verification    \(text) NOT NULL,
                http_version    \(text) NOT NULL,
                tls             \(text),
                headers         \(text) NOT NULL,
                request         \(text),
                secrets         \(blob) NOT NULL,
                secret_terms    \(text) NOT NULL
            )\(dialect.strict);

            -- `assert_formats`: whether the check includes `format` of the schema.
            CREATE TABLE event_types (
                app         \(integer) NOT NULL,
                type        \(text) NOT NULL,
                description \(text) NOT NULL,
                example     \(blob),
                schema      \(blob),
                check_mode  \(text) NOT NULL,
                assert_formats \(integer) NOT NULL,
                created_at  \(integer) NOT NULL,
                updated_at  \(integer) NOT NULL,
                version     \(integer) NOT NULL,
                PRIMARY KEY (app, type)
            )\(dialect.strict);
            """
    }

    /// Deliveries that are not made, replays and leases.
    package static func deliveries(_ dialect: SQLDialect) -> String {
        let (integer, text, blob) = dialect.types
        let identity = dialect.either(
            "INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
        let request = dialect.either("", "request   bigint NOT NULL DEFAULT 0,\n    ")
        return """
            -- Deliveries that failed so far. `state`: WaitingDelivery.State. `uncounted`: the part of `attempts` that used up no
            -- step of the retry schedule. `request`, only in PostgreSQL: the change that has asked for the delivery, or for its
            -- end, 0 for none.
            CREATE TABLE waiting (
                delegate  \(integer) NOT NULL\(dialect.ofDelegate),
                event     \(integer) NOT NULL,
                attempts  \(integer) NOT NULL,
                due_at    \(integer) NOT NULL,
                state     \(integer) NOT NULL,
                is_replay \(integer) NOT NULL,
                \(request)uncounted \(integer) NOT NULL,
                PRIMARY KEY (delegate, event)
            )\(dialect.either(" STRICT, WITHOUT ROWID", " WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)"));
            CREATE INDEX waiting_by_event ON waiting (event);
            -- For lists by state, newest event first, of all delegates and of one. Recovery needs no index of its own.
            CREATE INDEX waiting_by_state ON waiting (state, event, delegate);
            CREATE INDEX waiting_of_delegate ON waiting (delegate, state, event);
            -- Retries of a delegate in the order of their times, for a lane with more of them than are in memory.
            CREATE INDEX waiting_by_time ON waiting (delegate, due_at, event) WHERE state = 1;
            -- Deliveries of a delegate that were not made because retention removed their events, and that no
            -- herald.delivery.dropped has announced yet.
            CREATE TABLE unannounced (
                delegate \(integer) PRIMARY KEY\(dialect.ofDelegate),
                count    \(integer) NOT NULL
            )\(dialect.strict);

            -- Events that a delegate is notified of again: those after `cursor`, up to `until`, from `start` on.
            CREATE TABLE replays (
                id         \(identity),
                delegate   \(integer) NOT NULL\(dialect.ofDelegate),
                cursor     \(integer) NOT NULL,
                until      \(integer) NOT NULL,
                created_at \(integer) NOT NULL,
                start      \(integer) NOT NULL
            )\(dialect.strict);
            CREATE INDEX replays_of_delegate ON replays (delegate);

            -- What consumers have pulled and not settled. `entries`: PullLease.encode. `first`: the first event without a row in
            -- `waiting`, NULL if there is none.
            CREATE TABLE leases (
                delegate   \(integer) NOT NULL\(dialect.ofDelegate),
                id         \(text) NOT NULL,
                created_at \(integer) NOT NULL,
                expires_at \(integer) NOT NULL,
                entries    \(blob) NOT NULL,
                first      \(integer),
                PRIMARY KEY (delegate, id)
            )\(dialect.either(" STRICT", " WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)"));
            CREATE INDEX leases_by_end ON leases (delegate, expires_at, id);
            CREATE INDEX leases_by_first ON leases (delegate, first) WHERE first IS NOT NULL;
            """
    }

    /// Scheduled events.
    package static func pending(_ dialect: SQLDialect) -> String {
        let (integer, text, blob) = dialect.types
        return """
            -- Events that are published at `due_at`, and by id only until then. `bytes`: Event.storedBytes.
            CREATE TABLE pending (
                key        \(integer) PRIMARY KEY,
                app        \(integer) NOT NULL,
                id         \(text) NOT NULL,
                type       \(text) NOT NULL,
                subject    \(text),
                time       \(integer) NOT NULL,
                data       \(blob) NOT NULL,
                attributes \(text),
                due_at     \(integer) NOT NULL,
                bytes      \(integer) NOT NULL
            )\(dialect.strict);
            CREATE UNIQUE INDEX pending_by_id ON pending (app, id);
            CREATE INDEX pending_by_time ON pending (due_at, key);
            CREATE INDEX pending_of_apps ON pending (app, due_at, key);
            CREATE INDEX pending_by_subject ON pending (app, subject) WHERE subject IS NOT NULL;
            -- Of each app that has some, or had some.
            CREATE TABLE pending_counts (
                app    \(integer) PRIMARY KEY,
                events \(integer) NOT NULL,
                bytes  \(integer) NOT NULL
            )\(dialect.strict);
            -- Events that were published with SQL and are not valid, with the reason. In SQLite, those of a database that has
            -- moved.
            CREATE TABLE pending_refused (
                key        \(integer) PRIMARY KEY,
                app        \(integer) NOT NULL,
                id         \(text) NOT NULL,
                type       \(text) NOT NULL,
                subject    \(text),
                time       \(integer) NOT NULL,
                data       \(blob) NOT NULL,
                deliver_at \(integer),
                reason     \(text) NOT NULL,
                refused_at \(integer) NOT NULL
            )\(dialect.strict);
            """
    }

    /// The last values of events, and responses.
    package static func values(_ dialect: SQLDialect) -> String {
        let (integer, text, blob) = dialect.types
        // A word of SQL in PostgreSQL.
        let user = dialect.either("user  ", "\"user\"")
        return """
            CREATE TABLE auth_status (
                app       \(integer) NOT NULL,
                user_id   \(text) NOT NULL,
                logged_in \(integer) NOT NULL,
                \(user)    \(blob) NOT NULL,
                since     \(integer) NOT NULL,
                event_id  \(text) NOT NULL,
                PRIMARY KEY (app, user_id)
            )\(dialect.either(" STRICT", " WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)"));
            CREATE TABLE app_states (
                app      \(integer) PRIMARY KEY,
                state    \(blob) NOT NULL,
                since    \(integer) NOT NULL,
                event_id \(text) NOT NULL
            )\(dialect.either(" STRICT", " WITH (fillfactor = 50)"));

            -- The responses to requests with an idempotency key.
            CREATE TABLE answers (
                app         \(integer) NOT NULL,
                key         \(text) NOT NULL,
                fingerprint \(blob) NOT NULL,
                status      \(integer) NOT NULL,
                headers     \(text) NOT NULL,
                body        \(blob) NOT NULL,
                expires_at  \(integer) NOT NULL,
                PRIMARY KEY (app, key)
            )\(dialect.strict);
            CREATE INDEX answers_by_expiry ON answers (expires_at);
            """
    }

    /// Apps, keys, sessions and the audit log.
    package static func access(_ dialect: SQLDialect) -> String {
        let (integer, text, blob) = dialect.types
        // The order of these columns differs.
        let (id, app) = ("id           \(text) PRIMARY KEY", "app          \(integer) NOT NULL")
        let firstOfKey = dialect.either("\(id),\n    \(app)", "\(app),\n    \(id)")
        let auditID = dialect.either("INTEGER PRIMARY KEY", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
        return """
            -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
            -- `portal_…`: the appearance of its dashboard for the users of its links. `portal_frame_origins` as TextList writes
            -- it.
            CREATE TABLE apps (
                key               \(integer) PRIMARY KEY,
                id                \(text) NOT NULL,
                name              \(text) NOT NULL,
                max_delegates     \(integer),
                events_per_second \(integer),
                max_stored_bytes  \(integer),
                portal_title      \(text),
                portal_logo       \(text),
                portal_color      \(text),
                portal_language   \(text) NOT NULL,
                portal_frame_origins \(text) NOT NULL,
                created_at        \(integer) NOT NULL,
                updated_at        \(integer) NOT NULL,
                version           \(integer) NOT NULL,
                deleted_at        \(integer)
            )\(dialect.strict);

            -- Access keys. `digest`: SHA-256 of a text that is kept nowhere. `scopes` as TextList writes it. `delegate`: the id of
            -- the only one that the key opens. `requests_per_second`: NULL: what the server allows each key.
            CREATE TABLE keys (
                \(firstOfKey),
                name         \(text) NOT NULL,
                scopes       \(text) NOT NULL,
                delegate     \(text),
                digest       \(blob) NOT NULL,
                created_at   \(integer) NOT NULL,
                expires_at   \(integer),
                last_used_at \(integer),
                requests_per_second \(integer)
            )\(dialect.strict);
            -- Sessions of the dashboard, and links that open them. `digest`: SHA-256 of a text that is kept nowhere. `kind`:
            -- Session.Kind. `key`: where it comes from.
            CREATE TABLE passes (
                digest     \(blob) PRIMARY KEY,
                kind       \(integer) NOT NULL,
                app        \(integer) NOT NULL,
                key        \(text) NOT NULL,
                expires_at \(integer) NOT NULL
            )\(dialect.either(" STRICT, WITHOUT ROWID", ""));
            -- Changes of delegates, keys and apps. Only added to; the oldest are removed when there are many. The last one stays, so
            -- that no number is given twice.
            CREATE TABLE audit (
                id      \(auditID),
                app     \(integer) NOT NULL,
                time    \(integer) NOT NULL,
                actor   \(text) NOT NULL,
                address \(text) NOT NULL,
                action  \(text) NOT NULL,
                target  \(text)
            )\(dialect.strict);
            """
    }
}

extension SQLDialect {
    fileprivate func either(_ sqlite: String, _ postgres: String) -> String { self == .sqlite ? sqlite : postgres }

    /// The types of columns with integers, texts and blobs.
    fileprivate var types: (String, String, String) {
        (either("INTEGER", "bigint"), either("TEXT", "text COLLATE \"C\""), either("BLOB", "bytea"))
    }

    fileprivate var strict: String { either(" STRICT", "") }

    /// A foreign key. The tables of PostgreSQL have none.
    fileprivate var ofDelegate: String { either(" REFERENCES delegates (key)", "") }
}
