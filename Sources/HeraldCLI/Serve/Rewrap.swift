import HeraldCore
import HeraldCrypto
import HeraldSQLite

/// `herald rewrap`: the secrets of a database get another master key.
enum Rewrap {
    /// - Parameter newKey: the text of the key to come, or `none`.
    static func run(_ settings: Settings, newKey: String?) throws {
        guard let newKey else {
            throw CommandError(
                description:
                    "HERALD_NEW_MASTER_KEY is not set. `openssl rand -base64 32` makes a key; \"none\" unseals.")
        }
        var sealer: Sealer?
        if newKey != "none" {
            do throws(MasterKeyError) {
                sealer = Sealer(try MasterKey(text: newKey))
            } catch {
                throw CommandError(description: "HERALD_NEW_MASTER_KEY \(error).")
            }
        }
        try SQLiteStore.rewrap(folder: settings.data, from: settings.masterKey.map(Sealer.init), to: sealer)
    }
}
