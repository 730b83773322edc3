import Glibc
import HeraldCore
import HeraldCrypto
import HeraldPostgres
import HeraldSQLite

// The database, as a start would read it.
extension Doctor {
    private var sealer: Sealer? { settings.masterKey.map(Sealer.init) }

    mutating func checkDatabase(in folder: String) {
        do throws(StoreError) {
            keys = try FolderCheck(folder: folder, sealer: sealer).keys
            ok("database", "a server can start with \(folder)")
        } catch {
            add(error)
        }
    }

    mutating func checkDatabase(url: String) {
        do throws(StoreError) {
            let found = try PostgresCheck(url: url, sealer: sealer)
            keys = found.keys
            ok("database", "a server can start with \(found.label)")
            let range = found.clockOffset
            let offset = range.contains(0) ? 0 : range.lowerBound > 0 ? range.lowerBound : range.upperBound
            addClock(offset: offset, comparedWith: "the clock of the database")
        } catch {
            add(error)
        }
    }

    private mutating func add(_ error: StoreError) {
        fail("database", error.description, advice(on: error))
    }

    /// The description says what is wrong, and mostly also what is right.
    private func advice(on error: StoreError) -> String {
        let isFolder = settings.store == nil
        switch error {
        case .sealed: return "set \(Option.variable("master-key")) or --master-key-file as for the server"
        case .newer, .older: return "install the version of Herald that wrote it"
        case .moved: return "name the store that has all events with --data or --store"
        case .corrupt, .logDamaged, .unreadable:
            return isFolder ? "herald check \(settings.data)" : "restore a backup of the database"
        case .notWritable where isFolder: return "chown -R \(Self.user(geteuid())) \(settings.data)"
        default:
            return isFolder
                ? "repair the disk, or choose a folder on another one with --data"
                : "check the address in \(Option.variable("store")), that the server runs and lets this machine in: "
                    + "`psql` with the same address shows more"
        }
    }
}
