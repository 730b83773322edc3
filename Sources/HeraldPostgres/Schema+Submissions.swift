extension Schema {
    /// The events of `herald.publish`, and the roles that may call it.
    static let submissionTables = """
        -- Login roles that may publish, by the app. A role is the session's, whatever SET ROLE says.
        CREATE TABLE publishers (
            role text COLLATE "C" NOT NULL,
            app  bigint NOT NULL,
            PRIMARY KEY (role, app)
        );
        -- Committed by the transactions of programs. A node moves them into the log. `data`: the bytes that were given.
        CREATE TABLE submissions (
            key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            app        bigint NOT NULL,
            id         text COLLATE "C" NOT NULL,
            type       text COLLATE "C" NOT NULL,
            subject    text COLLATE "C",
            time       bigint NOT NULL,
            data       bytea NOT NULL,
            deliver_at bigint
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
            autovacuum_vacuum_insert_scale_factor = 0, autovacuum_analyze_scale_factor = 0,
            autovacuum_analyze_threshold = 100000);
        CREATE INDEX submissions_of_apps ON submissions (app, key);

        -- The key of an app, by its id or name; NULL if there is none. Parameters have the collation of what the caller passes.
        CREATE FUNCTION app_key(word text) RETURNS bigint LANGUAGE sql STABLE AS $f$
            SELECT CASE WHEN word COLLATE "C" = 'default' THEN 1
                ELSE (SELECT a.key FROM herald.apps a WHERE word COLLATE "C" IN (a.name, a.id) AND a.deleted_at IS NULL) END
        $f$;
        REVOKE ALL ON FUNCTION app_key FROM PUBLIC;

        -- Publishes an event if and only if the transaction of the caller commits. Takes no lock but that of its new row.
        CREATE FUNCTION publish(
            type text, data json DEFAULT 'null', subject text DEFAULT NULL, id text DEFAULT NULL,
            deliver_at timestamptz DEFAULT NULL, app text DEFAULT NULL
        ) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
            SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $f$
        DECLARE
            chosen bigint;
            others bigint;
            event_id text COLLATE "C" := coalesce(publish.id, 'sql_' || replace(gen_random_uuid()::text, '-', ''));
            due bigint;
            bytes bytea;
            shape text COLLATE "C";
        BEGIN
            IF publish.app IS NULL THEN
                SELECT min(p.app), max(p.app) INTO chosen, others FROM herald.publishers p
                WHERE p.role = session_user::text COLLATE "C";
                IF chosen <> others THEN
                    RAISE EXCEPTION 'the role % may publish to several apps', session_user
                        USING ERRCODE = '22023', HINT = 'Name one: herald.publish(…, app => ''shop'').';
                END IF;
            ELSE
                SELECT p.app INTO chosen FROM herald.publishers p
                WHERE p.role = session_user::text COLLATE "C" AND p.app = herald.app_key(publish.app);
            END IF;
            IF chosen IS NULL OR chosen <> 1
                AND NOT EXISTS (SELECT 1 FROM herald.apps a WHERE a.key = chosen AND a.deleted_at IS NULL)
            THEN
                RAISE EXCEPTION 'the role % may not publish to this app', session_user
                    USING ERRCODE = '42501', HINT = 'The owner of the schema runs: SELECT herald.allow(''role'', ''app'').';
            END IF;
            IF publish.type IS NULL OR octet_length(publish.type) > 128
                OR publish.type COLLATE "C" !~ '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$'
            THEN
                RAISE EXCEPTION 'type must be dot-separated words of A-Z, a-z, 0-9, _ and -, at most 128 characters'
                    USING ERRCODE = '22023';
            END IF;
            IF starts_with(publish.type COLLATE "C", 'herald.') THEN
                RAISE EXCEPTION 'type must not begin with "herald."' USING ERRCODE = '22023';
            END IF;
            IF char_length(publish.subject) NOT BETWEEN 1 AND 256 THEN
                RAISE EXCEPTION 'subject must be a string of 1 to 256 characters' USING ERRCODE = '22023';
            END IF;
            IF octet_length(event_id) NOT BETWEEN 1 AND 128 OR event_id IN ('.', '..')
                OR event_id !~ '^[\\x21\\x23-\\x2b\\x2d-\\x5b\\x5d-\\x7d]+$'
            THEN
                RAISE EXCEPTION 'id must be 1 to 128 visible ASCII characters but " , \\ and ~, and not . or ..'
                    USING ERRCODE = '22023';
            END IF;
            IF publish.deliver_at IS NOT NULL THEN
                IF NOT isfinite(publish.deliver_at) OR publish.deliver_at > clock_timestamp() + interval '366 days'
                    OR publish.deliver_at < timestamptz '0001-01-02 00:00:00+00'
                THEN
                    RAISE EXCEPTION 'deliver_at must be at most 366 days ahead' USING ERRCODE = '22023';
                END IF;
                due := floor(extract(epoch FROM publish.deliver_at) * 1000)::bigint;
            END IF;
            bytes := convert_to(coalesce(publish.data, 'null')::text, 'UTF8');
            IF octet_length(bytes) > 262144 THEN
                RAISE EXCEPTION 'data must be at most 262144 bytes' USING ERRCODE = '22023';
            END IF;
            shape := publish.data::text;
            -- Only what has many brackets can be deep.
            IF length(shape) - length(translate(shape, '[{', '')) > 60 THEN
                shape := regexp_replace(regexp_replace(shape, '"(\\\\.|[^"\\\\])*"', '', 'g'), '[^][{}]', '', 'g');
                FOR depth IN 1..60 LOOP
                    shape := regexp_replace(shape, '\\[\\]|\\{\\}', '', 'g');
                    EXIT WHEN shape = '';
                END LOOP;
                IF shape <> '' THEN
                    RAISE EXCEPTION 'data must have at most 60 levels' USING ERRCODE = '22023';
                END IF;
            END IF;
            INSERT INTO herald.submissions (app, id, type, subject, time, data, deliver_at)
            VALUES (chosen, event_id, publish.type, publish.subject,
                floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, bytes, due);
            RETURN event_id;
        END $f$;
        REVOKE ALL ON FUNCTION publish FROM PUBLIC;

        -- Lets a login role publish to an app, by its name or id. For the owner of the schema.
        CREATE FUNCTION allow(role text, app text DEFAULT 'default') RETURNS void LANGUAGE plpgsql
            SET search_path = pg_catalog, pg_temp AS $f$
        DECLARE
            chosen bigint := herald.app_key(allow.app);
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname::text = allow.role COLLATE "C") THEN
                RAISE EXCEPTION 'there is no role %', allow.role USING ERRCODE = '22023';
            END IF;
            IF chosen IS NULL THEN
                RAISE EXCEPTION 'there is no app %', allow.app USING ERRCODE = '22023';
            END IF;
            INSERT INTO herald.publishers (role, app) VALUES (allow.role, chosen) ON CONFLICT DO NOTHING;
            EXECUTE format('GRANT USAGE ON SCHEMA herald TO %I', allow.role);
            EXECUTE format('GRANT EXECUTE ON FUNCTION herald.publish TO %I', allow.role);
        END $f$;
        REVOKE ALL ON FUNCTION allow FROM PUBLIC;

        -- Takes it back: for one app, or for all.
        CREATE FUNCTION disallow(role text, app text DEFAULT NULL) RETURNS void LANGUAGE plpgsql
            SET search_path = pg_catalog, pg_temp AS $f$
        DECLARE
            chosen bigint := herald.app_key(disallow.app);
        BEGIN
            IF disallow.app IS NOT NULL AND chosen IS NULL THEN
                RAISE EXCEPTION 'there is no app %', disallow.app USING ERRCODE = '22023';
            END IF;
            DELETE FROM herald.publishers p
            WHERE p.role = disallow.role COLLATE "C" AND (disallow.app IS NULL OR p.app = chosen);
            IF NOT EXISTS (SELECT 1 FROM herald.publishers p WHERE p.role = disallow.role COLLATE "C")
                AND EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname::text = disallow.role COLLATE "C")
            THEN
                EXECUTE format('REVOKE EXECUTE ON FUNCTION herald.publish FROM %I', disallow.role);
                EXECUTE format('REVOKE USAGE ON SCHEMA herald FROM %I', disallow.role);
            END IF;
        END $f$;
        REVOKE ALL ON FUNCTION disallow FROM PUBLIC;
        """
}
