import HeraldStore

extension Schema {
    /// How far deliveries are, and those that wait.
    static let deliveryTables = """
        -- Lanes that are not at the common position, which is the one row of `progress`.
        CREATE TABLE lanes (
            delegate INTEGER PRIMARY KEY REFERENCES delegates (key),
            cursor   INTEGER NOT NULL,
            position INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE progress (settled INTEGER NOT NULL) STRICT;
        INSERT INTO progress VALUES (0);

        \(SharedTables.deliveries(.sqlite))
        """
}
