extension Schema {
    /// Delegates and event types.
    static let delegateTables = """
        -- Deleted delegates stay as tombstones, wiped of what their owner set: no key is given twice, and their
        -- attempts keep a name. Lists are written as TextList does it. `kind`: how a delegate gets its events, DelegateKind.
        -- `ack_seconds` is for those that pull. Headers, secrets and `tls`, which may have the key of a client certificate, are
        -- never shown. `request`: how events become requests, the text of a Recipe; it has secrets, and is sealed as headers
        -- are. `secret_terms`: the scheme of each of the `secrets` and when it expires, as pairs.
        CREATE TABLE delegates (
            key             bigint PRIMARY KEY,
            app             bigint NOT NULL,
            id              text COLLATE "C" NOT NULL,
            kind            text COLLATE "C" NOT NULL,
            status          text COLLATE "C" NOT NULL,
            status_reason   text COLLATE "C",
            start           bigint NOT NULL,
            created_at      bigint NOT NULL,
            updated_at      bigint NOT NULL,
            version         bigint NOT NULL,
            deleted_at      bigint,
            expires_at      bigint,
            failing_since   bigint,
            url             text COLLATE "C" NOT NULL,
            events          text COLLATE "C" NOT NULL,
            subjects        text COLLATE "C" NOT NULL,
            filter          text COLLATE "C",
            description     text COLLATE "C" NOT NULL,
            metadata        text COLLATE "C" NOT NULL,
            format          text COLLATE "C" NOT NULL,
            ordering        text COLLATE "C" NOT NULL,
            max_in_flight   bigint NOT NULL,
            rate_limit      double precision,
            timeout_seconds bigint NOT NULL,
            ack_seconds     bigint NOT NULL,
            retry_schedule  text COLLATE "C" NOT NULL,
            lease_seconds   bigint,
            disable_after_seconds bigint NOT NULL,
            verification    text COLLATE "C" NOT NULL,
            http_version    text COLLATE "C" NOT NULL,
            tls             text COLLATE "C",
            headers         text COLLATE "C" NOT NULL,
            request         text COLLATE "C",
            secrets         bytea NOT NULL,
            secret_terms    text COLLATE "C" NOT NULL
        );

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
        """
}
