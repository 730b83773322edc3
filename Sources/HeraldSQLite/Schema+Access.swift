import HeraldStore

extension Schema {
    /// Apps, who is let in, who has changed what, and the server's own secrets.
    static let accessTables = """
        \(SharedTables.access(.sqlite))

        -- One row when secrets are sealed: a value that only their key opens. See ColumnSealer.
        CREATE TABLE sealing (proof BLOB NOT NULL) STRICT;
        -- One row: random bytes of the server's own. See ServerSecret.
        CREATE TABLE server (secret BLOB NOT NULL) STRICT;
        """
}
