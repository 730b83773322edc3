import HeraldStore

extension Schema {
    /// How far deliveries are, and those that wait.
    static let deliveryTables = """
        -- Lanes that are not at the position of their shard.
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

        \(SharedTables.deliveries(.postgres))
        """
}
