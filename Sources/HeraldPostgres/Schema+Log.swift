import HeraldStore

extension Schema {
    /// The log, its partitions, and what retention has removed of it.
    static let logTables = """
        -- The log. `sequence` has no gaps but those of retention; the last event is never deleted, so that no number is given
        -- twice. `attributes`: pairs, NULL for none. `audience`: the one delegate that is notified. `checksum`: EventChecksum. An
        -- erased event keeps its row. Each partition has a unique index by app and id (add_partition).
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

        -- The partitions of events and attempts, made ahead: rows from `first` on, before `next`.
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

        -- Up to `sequence`, events had arrived at `time`.
        CREATE TABLE marks (
            time     bigint PRIMARY KEY,
            sequence bigint NOT NULL
        );
        CREATE INDEX marks_by_sequence ON marks (sequence);
        \(SharedTables.blocks(.postgres))
        """
}
