import HeraldCore
import HeraldCrypto
import HeraldSQLite

/// `herald rewrap`: encrypts the secrets of a database with another master key.
enum Rewrap {
    /// - Parameter newKey: the text of the new key, or `none`.
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
