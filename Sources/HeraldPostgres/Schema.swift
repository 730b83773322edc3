/// The schema of the database, in the PostgreSQL schema `herald`, and the migration from each version to the next.
///
/// `meta.version` is the version of the tables. A release appends to the list of migrations and never changes existing entries.
/// It works on two versions of the schema: with and without its contracting migration (`Migration.Step`).
enum Schema {
    /// SQLSTATE of our own: something has changed since it was read.
    static let outdated = "HR001"

    /// The key of the advisory lock under which the schema is changed.
    static let migrationLock: Int64 = 0x4852_4c44_0001
    /// Held by `herald migrate` while it reads from the database or writes to it.
    static let moveLock: Int64 = 0x4852_4c44_0004
    /// The lock that gives events their order.
    static let orderLock: Int64 = 0x4852_4c44_0003

    /// The first half of the key of the lock that sessions share whose release knows the schema up to a version; the second one is
    /// that version.
    static let versionLock: Int32 = 0x4852_4c13
    /// The first half of the key of the lock of a round of attempts; the second one is its number.
    static let roundLock: Int32 = 0x48_524c

    /// The version that the first migration makes. No release has made a schema of a lower one.
    static let first = 5
    /// The version from which on events can be scheduled.
    static let pending = 11
    /// The version from which on there may be pull delegates.
    static let pulls = 12

    /// The version that a list of migrations makes.
    static func version(after migrations: [Migration.Step] = migrations) -> Int { first + migrations.count - 1 }

    static let migrations: [Migration.Step] = [
        """
        -- The log. `sequence` has no gaps but those of retention; the last event is never deleted, so that no number is given
        -- twice. `checksum`: EventChecksum. Each partition has a unique index by app and id (add_partition). An erased event keeps its row.
        CREATE TABLE events (
            sequence   bigint NOT NULL PRIMARY KEY,
            app        bigint NOT NULL,
            id         text COLLATE "C" NOT NULL,
            type       text COLLATE "C" NOT NULL,
            subject    text COLLATE "C",
            time       bigint NOT NULL,
            data       bytea NOT NULL,
            attributes text COLLATE "C",
            audience   bigint,
            checksum   bigint NOT NULL
        ) PARTITION BY RANGE (sequence);
        -- So that the list of a small app need not pass over the events of a large one. The app `default` has none.
        CREATE INDEX events_of_apps ON events (app, sequence) WHERE app <> 1;

        -- Every attempt; the last one is never deleted. NULL: no answer, or nothing to tell.
        -- `previous`: the attempt before it of the same delegate, 0 for none, -1 if another process had its shard already. No index
        -- by delegate, which doubles the cost.
        CREATE TABLE attempts (
            id         bigint NOT NULL PRIMARY KEY,
            delegate   bigint NOT NULL,
            event      bigint NOT NULL,
            number     bigint NOT NULL,
            started_at bigint NOT NULL,
            duration   bigint NOT NULL,
            status     bigint,
            failure    text COLLATE "C",
            detail     text COLLATE "C",
            excerpt    bytea,
            is_replay  bigint,
            lookup     bigint,
            connect    bigint,
            tls        bigint,
            first_byte bigint,
            is_reused  bigint,
            peer       text COLLATE "C",
            bytes_sent bigint,
            bytes_received bigint,
            previous   bigint NOT NULL
        ) PARTITION BY RANGE (id);
        CREATE INDEX attempts_by_event ON attempts (event, delegate);
        CREATE INDEX attempts_failed ON attempts (delegate, id) WHERE NOT coalesce(status, 0) BETWEEN 200 AND 299;
        -- The last attempt of each delegate in the rounds that are ended.
        CREATE TABLE heads (
            delegate bigint PRIMARY KEY,
            attempt  bigint NOT NULL
        );
        \(AttemptRounds.functions)

        -- The partitions of both, made ahead: rows from `first` on, before `next`.
        CREATE TABLE partitions (
            parent text NOT NULL,
            first  bigint NOT NULL,
            next   bigint NOT NULL,
            name   text NOT NULL,
            PRIMARY KEY (parent, first)
        );
        -- Makes a partition, if less than half of one is left after a row. Several processes may ask for the same.
        CREATE FUNCTION add_partition(of_table text, last_row bigint, size bigint) RETURNS void LANGUAGE plpgsql AS $f$
        DECLARE
            start bigint;
            stop bigint;
            name text;
        BEGIN
            PERFORM pg_advisory_xact_lock(\(migrationLock));
            SELECT coalesce(max(p.next), 1) INTO start FROM partitions p WHERE p.parent = of_table;
            IF start - last_row > size / 2 THEN RETURN; END IF;
            stop := greatest(start, last_row + 1) + size;
            name := format('%s_%s', of_table, start);
            -- Attaching takes a weaker lock than creating it as a partition.
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, of_table);
            IF of_table = 'events' THEN
                EXECUTE format('CREATE UNIQUE INDEX ON %I (app, id)', name);
            END IF;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', of_table, name, start, stop);
            INSERT INTO partitions VALUES (of_table, start, stop, name);
        END $f$;

        -- Deleted delegates stay as tombstones, wiped of what their owner told us: no key is given twice, and their
        -- attempts keep a name. Lists are written as TextList does it.
        CREATE TABLE delegates (
            key             bigint PRIMARY KEY,
            app             bigint NOT NULL,
            id              text COLLATE "C" NOT NULL,
            start           bigint NOT NULL,
            created_at      bigint NOT NULL,
            updated_at      bigint NOT NULL,
            version         bigint NOT NULL,
            deleted_at      bigint,
            status          text COLLATE "C" NOT NULL,
            status_reason   text COLLATE "C",
            expires_at      bigint,
            failing_since   bigint,
            secrets         bytea NOT NULL,
            secret_terms    text COLLATE "C" NOT NULL,
            url             text COLLATE "C" NOT NULL,
            events          text COLLATE "C" NOT NULL,
            subjects        text COLLATE "C" NOT NULL,
            description     text COLLATE "C" NOT NULL,
            metadata        text COLLATE "C" NOT NULL,
            headers         text COLLATE "C" NOT NULL,
            max_in_flight   bigint NOT NULL,
            timeout_seconds bigint NOT NULL,
            retry_schedule  text COLLATE "C" NOT NULL,
            filter          text COLLATE "C",
            format          text COLLATE "C" NOT NULL,
            ordering        text COLLATE "C" NOT NULL,
            rate_limit      double precision,
            lease_seconds   bigint,
            disable_after_seconds bigint NOT NULL,
            verification    text COLLATE "C" NOT NULL,
            http_version    text COLLATE "C" NOT NULL,
            tls             text COLLATE "C"
        );
        -- An index of URLs could not hold a long one.
        CREATE UNIQUE INDEX delegates_by_url ON delegates (app, hashtextextended(url, 0), hashtextextended(url, 1))
            WHERE deleted_at IS NULL;

        -- What transactions have changed of what every process keeps in memory: a row for each deciding transaction, with the
        -- next number, in the order of the commits; a line for each Change. `name`: ChangeSet.name. Old ones are removed.
        CREATE TABLE changes (
            number  bigint PRIMARY KEY,
            name    bigint NOT NULL,
            changes text COLLATE "C" NOT NULL,
            time    bigint NOT NULL
        );

        -- The processes that deliver, for people, and for those that look who is silent. What is there, and who has which shard,
        -- locks say (Writer+Leases). Times are milliseconds since 1970 UTC, by the clock of the server.
        CREATE TABLE nodes (
            node       bigint PRIMARY KEY,
            name       text COLLATE "C" NOT NULL,
            version    text COLLATE "C" NOT NULL,
            started_at bigint NOT NULL,
            seen_at    bigint NOT NULL,
            left_at    bigint
        ) WITH (fillfactor = 50);

        -- The position of each shard of the delegates, and the lanes that are not at it. `node`: the one that has taken it last,
        -- NULL before the first; `is_given`: it has given it since.
        CREATE TABLE shards (
            shard    bigint PRIMARY KEY,
            settled  bigint NOT NULL,
            node     bigint,
            is_given bigint NOT NULL
        ) WITH (fillfactor = 50);
        INSERT INTO shards SELECT number, 0, NULL, 0 FROM generate_series(0, 63) AS number;
        -- What moved when, for people: shards (a bit each) that a node has taken at once from another one, NULL for none.
        CREATE TABLE moves (
            id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            time     bigint NOT NULL,
            shards   bigint NOT NULL,
            "from"   bigint,
            "to"     bigint NOT NULL,
            is_given bigint NOT NULL
        );
        CREATE TABLE lanes (
            delegate bigint PRIMARY KEY,
            cursor   bigint NOT NULL,
            position bigint NOT NULL
        ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

        -- Attempts, by the first and the last id, that were written since the positions of these shards (a bit each).
        CREATE TABLE attempts_ahead (
            first  bigint PRIMARY KEY,
            last   bigint NOT NULL,
            shards bigint NOT NULL
        ) WITH (fillfactor = 50);

        -- Deliveries that failed so far. `state`: WaitingDelivery.State. `request`: the change that has asked for the delivery, or for
        -- its end, 0 for none. `uncounted`: the part of `attempts` that used up no step of the retry schedule.
        CREATE TABLE waiting (
            delegate  bigint NOT NULL,
            event     bigint NOT NULL,
            attempts  bigint NOT NULL,
            due_at    bigint NOT NULL,
            state     bigint NOT NULL,
            is_replay bigint NOT NULL,
            request   bigint NOT NULL DEFAULT 0,
            uncounted bigint NOT NULL,
            PRIMARY KEY (delegate, event)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX waiting_by_event ON waiting (event);
        CREATE INDEX waiting_by_state ON waiting (state, event, delegate);
        CREATE INDEX waiting_of_delegate ON waiting (delegate, state, event);
        -- Retries of a delegate in the order of their times, for a lane with more of them than are in memory.
        CREATE INDEX waiting_by_time ON waiting (delegate, due_at, event) WHERE state = 1;

        -- Events that a delegate is told again: those after `cursor`, up to `until`, from `start` on.
        CREATE TABLE replays (
            id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            delegate   bigint NOT NULL,
            cursor     bigint NOT NULL,
            until      bigint NOT NULL,
            created_at bigint NOT NULL,
            start      bigint NOT NULL
        );
        CREATE INDEX replays_of_delegate ON replays (delegate);

        -- The results of a delegate's attempts in the slot that begins at `start`. `latencies`: LatencyHistogram.text.
        CREATE TABLE statistics (
            delegate  bigint NOT NULL,
            start     bigint NOT NULL,
            delivered bigint NOT NULL,
            failed    bigint NOT NULL,
            latencies text COLLATE "C" NOT NULL,
            PRIMARY KEY (delegate, start)
        );
        CREATE INDEX statistics_by_start ON statistics (start);

        -- Up to `sequence`, events had arrived at `time`.
        CREATE TABLE marks (
            time     bigint PRIMARY KEY,
            sequence bigint NOT NULL
        );
        CREATE INDEX marks_by_sequence ON marks (sequence);
        -- What each app has in each full block of 1,024 places of the log.
        CREATE TABLE app_blocks (
            block  bigint NOT NULL,
            app    bigint NOT NULL,
            events bigint NOT NULL,
            bytes  bigint NOT NULL,
            PRIMARY KEY (block, app)
        );
        -- What retention has removed, by Removal.Part and Removal.Cause; and deliveries of a delegate that were not made because
        -- of it, and that no herald.delivery.dropped has announced yet.
        CREATE TABLE removals (
            part  text COLLATE "C" NOT NULL,
            cause text COLLATE "C" NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (part, cause)
        );
        CREATE TABLE unannounced (
            delegate bigint PRIMARY KEY,
            count    bigint NOT NULL
        );

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

        -- `assert_formats`: whether the check includes `format` of the schema.
        CREATE TABLE event_types (
            app         bigint NOT NULL,
            type        text COLLATE "C" NOT NULL,
            description text COLLATE "C" NOT NULL,
            example     bytea,
            schema      bytea,
            check_mode  text COLLATE "C" NOT NULL,
            assert_formats bigint NOT NULL,
            created_at  bigint NOT NULL,
            updated_at  bigint NOT NULL,
            version     bigint NOT NULL,
            PRIMARY KEY (app, type)
        );

        -- Who is let in. `digest`: SHA-256 of a text that is kept nowhere.
        CREATE TABLE keys (
            app          bigint NOT NULL,
            id           text COLLATE "C" PRIMARY KEY,
            name         text COLLATE "C" NOT NULL,
            scopes       text COLLATE "C" NOT NULL,
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
        -- Tenants; `default`, 1, has a row only when it was changed. Deleted ones stay as tombstones: no key is given twice.
        CREATE TABLE apps (
            key               bigint PRIMARY KEY,
            id                text COLLATE "C" NOT NULL,
            name              text COLLATE "C" NOT NULL,
            max_delegates     bigint,
            events_per_second bigint,
            max_stored_bytes  bigint,
            created_at        bigint NOT NULL,
            updated_at        bigint NOT NULL,
            version           bigint NOT NULL,
            deleted_at        bigint
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

        \(appendFunction)
        """,
        """
        -- Events and attempts by app, slot and event type. `start`: when the slot, or after a day its hour, begins. `type`: '' for types beyond
        -- Volume.maxTypes.
        CREATE TABLE volumes (
            app       bigint NOT NULL,
            type      text COLLATE "C" NOT NULL,
            start     bigint NOT NULL,
            events    bigint NOT NULL,
            delivered bigint NOT NULL,
            failed    bigint NOT NULL,
            PRIMARY KEY (app, start, type)
        ) WITH (fillfactor = 70);
        CREATE INDEX volumes_by_start ON volumes (start);
        """,
        """
        -- The appearance of an app's dashboard for the users of its links. `portal_frame_origins` as TextList writes it.
        ALTER TABLE apps ADD COLUMN portal_title text COLLATE "C";
        ALTER TABLE apps ADD COLUMN portal_logo text COLLATE "C";
        ALTER TABLE apps ADD COLUMN portal_color text COLLATE "C";
        ALTER TABLE apps ADD COLUMN portal_language text COLLATE "C" NOT NULL DEFAULT 'en';
        ALTER TABLE apps ADD COLUMN portal_frame_origins text COLLATE "C" NOT NULL DEFAULT '';
        """,
        """
        -- How events become requests: the text of a Recipe, with secrets, sealed as headers are.
        ALTER TABLE delegates ADD COLUMN request text COLLATE "C";
        """,
        Migration.Step(stringLiteral: pendingTables),
        """
        -- Several delegates may have one URL (WebhookSettings.repeats).
        DROP INDEX delegates_by_url;
        """,
        Migration.Step(stringLiteral: submissionTables),
        Migration.Step(stringLiteral: leaseTables),
        // Scheduled events and pull delegates are written once no node of a release is left that would not erase or publish them.
        .contraction(oldest: pulls, "NULL;"),
    ]
}
