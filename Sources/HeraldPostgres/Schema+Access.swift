import HeraldStore

extension Schema {
    /// Apps, who is let in, who has changed what, and the server's own secrets.
    static let accessTables = """
        \(SharedTables.access(.postgres))

        -- `secret`: ServerSecret. `proof`: a value that only the master key opens, NULL if secrets are not encrypted.
        CREATE TABLE server (
            secret bytea,
            proof  bytea
        );
        INSERT INTO server VALUES (NULL, NULL);
        """
}
