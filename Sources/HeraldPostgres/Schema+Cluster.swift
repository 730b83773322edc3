extension Schema {
    /// Changes, nodes and shards, for the processes that share the database.
    static let clusterTables = """
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

        -- The position of each shard of the delegates. `node`: the one that has taken it last, NULL before the first; `is_given`: it
        -- has given it since.
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
        """
}
