import HeraldStore

extension Schema {
    /// The log, and what retention has removed of it.
    static let logTables = """
        -- The log. `sequence` has no gaps but those of retention; the last event is never deleted, so that no number is given
        -- twice. `attributes`: pairs, NULL for none. `audience`: the one delegate that is notified. `checksum`: EventChecksum,
        -- over all other columns. An erased event keeps its row.
        CREATE TABLE events (
            sequence   INTEGER PRIMARY KEY,
            app        INTEGER NOT NULL,
            id         TEXT NOT NULL,
            type       TEXT NOT NULL,
            subject    TEXT,
            time       INTEGER NOT NULL,
            data       BLOB NOT NULL,
            attributes TEXT,
            audience   INTEGER,
            checksum   INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX events_by_id ON events (app, id);
        -- So that the list of a small app need not pass over the events of a large one. `default` has none: a server with one
        -- app pays nothing.
        CREATE INDEX events_of_apps ON events (app, sequence) WHERE app <> 1;
        -- Up to `sequence`, events had arrived at `time`.
        CREATE TABLE marks (
            time     INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX marks_by_sequence ON marks (sequence);
        -- Ranges of positions after the first event that retention has removed: nothing is missing there.
        CREATE TABLE gaps (
            first INTEGER PRIMARY KEY,
            last  INTEGER NOT NULL
        ) STRICT;
        \(SharedTables.blocks(.sqlite))
        """
}
