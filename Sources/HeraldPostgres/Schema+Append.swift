extension Schema {
    /// The function that appends to the log.
    static let appendFunction = """
        -- Appends to the log in one message. What was read before, without a lock, is checked under the lock that gives events
        -- their order; a check that fails is an error of the class HR001. The commit is not flushed: a flush follows it, which
        -- many commits share, and during which no session holds the lock.
        --   base            the end of the log when reading began: what is not newer was seen
        --   …               columns of the events
        --   absent_…        ids that were looked for and not found
        --   status_…        users whose status was read, with the event that had set it ('' for none)
        --   state_…         apps whose state was read, likewise
        --   unanswered_…    idempotency keys that had no response; expired ones do not count
        -- Returns the end of the log.
        CREATE FUNCTION append_1(
            base bigint, apps bigint[], ids text[], types text[], subjects text[], times bigint[], datas bytea[],
            attributes text[], audiences bigint[], checksums bigint[],
            absent_apps bigint[], absent_ids text[],
            status_apps bigint[], status_users text[], status_events text[],
            state_apps bigint[], state_events text[],
            unanswered_apps bigint[], unanswered_keys text[], now bigint
        ) RETURNS bigint LANGUAGE plpgsql AS $f$
        DECLARE
            head bigint;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            PERFORM pg_advisory_xact_lock(\(orderLock));
            -- A statement of its own, and so a new snapshot: it sees what was committed while this one waited.
            SELECT coalesce((SELECT sequence FROM events ORDER BY sequence DESC LIMIT 1), 0) INTO head;
            IF head > base THEN
                FOR i IN 1..cardinality(absent_ids) LOOP
                    PERFORM 1 FROM events e WHERE e.app = absent_apps[i] AND e.id = absent_ids[i] AND e.sequence > base;
                    IF FOUND THEN RAISE EXCEPTION 'an event has come' USING ERRCODE = '\(outdated)'; END IF;
                END LOOP;
            END IF;
            FOR i IN 1..cardinality(status_users) LOOP
                IF coalesce((SELECT s.event_id FROM auth_status s WHERE s.app = status_apps[i] AND s.user_id = status_users[i]), '')
                    <> status_events[i] THEN
                    RAISE EXCEPTION 'a status has changed' USING ERRCODE = '\(outdated)';
                END IF;
            END LOOP;
            FOR i IN 1..cardinality(state_apps) LOOP
                IF coalesce((SELECT s.event_id FROM app_states s WHERE s.app = state_apps[i]), '') <> state_events[i] THEN
                    RAISE EXCEPTION 'a state has changed' USING ERRCODE = '\(outdated)';
                END IF;
            END LOOP;
            FOR i IN 1..cardinality(unanswered_keys) LOOP
                PERFORM 1 FROM answers a WHERE a.app = unanswered_apps[i] AND a.key = unanswered_keys[i] AND a.expires_at > now;
                IF FOUND THEN RAISE EXCEPTION 'a response has come' USING ERRCODE = '\(outdated)'; END IF;
            END LOOP;
            -- Functions in the SELECT list, each of which gives a column: in FROM they would collect all rows first.
            INSERT INTO events SELECT generate_series(head + 1, head + cardinality(apps)), unnest(apps), unnest(ids),
                unnest(types), unnest(subjects), unnest(times), unnest(datas), unnest(attributes), unnest(audiences),
                unnest(checksums) # generate_series(head + 1, head + cardinality(apps));
            RETURN head + cardinality(apps);
        END $f$;
        """
}
