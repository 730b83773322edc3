import HeraldCore
import HeraldCrypto
import HeraldSQLite

/// `herald rewrap`: encrypts the secrets of a database with another master key.
enum Rewrap {
    /// - Parameter newKey: the text of the new key, or `none`.
    static func run(_ settings: Settings, newKey: String?) throws {
        if settings.store != nil {
            throw CommandError(
                description: "`herald rewrap` changes the key of a data folder; that of a database on a server stays.",
                exitCode: ExitCode.usage)
        }
        guard let newKey else {
            throw CommandError(
                description: "HERALD_NEW_MASTER_KEY is not set, and neither is HERALD_NEW_MASTER_KEY_FILE."
                    + " `openssl rand -base64 32` makes a key; \"none\" unseals.")
        case (.some, .some):
            throw CommandError(
                description: "HERALD_NEW_MASTER_KEY and HERALD_NEW_MASTER_KEY_FILE are both set: which is the new key?")
        case ("none", nil): return nil
        case (let text?, nil):
            do throws(MasterKeyError) {
                return Sealer(try MasterKey(text: text))
            } catch {
                throw CommandError(description: "HERALD_NEW_MASTER_KEY \(error).")
            }
        case (nil, let file?):
            guard let key = KeyFile.masterKey(file) else {
                throw CommandError(
                    description: "HERALD_NEW_MASTER_KEY_FILE is \"\(file)\", but must be \(KeyFile.masterKeyWords).")
            }
            return Sealer(key)
        }
    }
}
