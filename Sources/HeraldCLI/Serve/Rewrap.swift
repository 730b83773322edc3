import HeraldCrypto
import HeraldSQLite

/// `herald rewrap`: encrypts the secrets of a database with another master key.
enum Rewrap {
    /// - Returns: whether the secrets are encrypted now.
    static func run(_ settings: Settings, environment: [String: String]) throws -> Bool {
        if settings.store != nil {
            throw CommandError(
                "`herald rewrap` changes the key of a data folder; that of a database on a server stays.",
                exitCode: ExitCode.usage)
        }
        let sealer = try newSealer(environment)
        try SQLiteStore.rewrap(folder: settings.data, from: settings.masterKey.map(Sealer.init), to: sealer)
        return sealer != nil
    }

    /// - Returns: `nil` to unseal.
    private static func newSealer(_ environment: [String: String]) throws(CommandError) -> Sealer? {
        switch (environment["HERALD_NEW_MASTER_KEY"], environment["HERALD_NEW_MASTER_KEY_FILE"]) {
        case (nil, nil):
            throw CommandError(
                "HERALD_NEW_MASTER_KEY is not set, and neither is HERALD_NEW_MASTER_KEY_FILE."
                    + " `openssl rand -base64 32` makes a key; \"none\" unseals.")
        case (.some, .some):
            throw CommandError(
                "HERALD_NEW_MASTER_KEY and HERALD_NEW_MASTER_KEY_FILE are both set: which is the new key?")
        case ("none", nil): return nil
        case (let text?, nil):
            do throws(MasterKeyError) {
                return Sealer(try MasterKey(text: text))
            } catch {
                throw CommandError("HERALD_NEW_MASTER_KEY \(error).")
            }
        case (nil, let file?):
            do throws(Option.Disallowed) {
                _ = try Option.readable(file)
            } catch {
                throw CommandError("HERALD_NEW_MASTER_KEY_FILE is \"\(file)\", but must be \(error.allowed).")
            }
            if let problem = SecretFile.problem(file) {
                throw CommandError("HERALD_NEW_MASTER_KEY_FILE is \"\(file)\", and \(problem)")
            }
            guard let key = KeyFile.masterKey(file) else {
                throw CommandError("HERALD_NEW_MASTER_KEY_FILE is \"\(file)\", but must be \(KeyFile.masterKeyWords).")
            }
            return Sealer(key)
        }
    }
}
