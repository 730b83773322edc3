import Glibc
import HeraldCrypto
import HeraldModel
import HeraldPostgres
import HeraldSQLite

// The database, as a start would read it.
extension Doctor {
    private var sealer: Sealer? { settings.masterKey.map(Sealer.init) }

    mutating func checkDatabase(in folder: String) {
        do throws(StoreError) {
            let found = try FolderCheck(folder: folder, sealer: sealer)
            keys = found.keys
            ok("database", "a server can start with \(folder)")
            addDamage(found.disabled, found.damagedRows)
        } catch {
            add(error)
        }
    }

    mutating func checkDatabase(url: String) {
        do throws(StoreError) {
            let found = try PostgresCheck(url: url, sealer: sealer)
            keys = found.keys
            ok("database", "a server can start with \(found.label)")
            addDamage(found.disabled, found.damagedRows)
            let range = found.clockOffset
            let offset = range.contains(0) ? 0 : range.lowerBound > 0 ? range.lowerBound : range.upperBound
            addClock(offset: offset, comparedWith: "the clock of the database")
        } catch {
            add(error)
        }
    }

    /// The maximum number of delegates that are named.
    private static let maxNamed = 100

    /// - Parameters:
    ///   - disabled: delegates with stored values that can't be read.
    ///   - rows: all rows that can't be read, with which a server can start.
    private mutating func addDamage(_ disabled: [WebhookDelegate], _ rows: [DamagedRows.Finding]) {
        for delegate in disabled.prefix(Self.maxNamed) {
            let reason = delegate.state.statusReason ?? "stored values of it can't be read"
            warn(
                "delegates", "\(delegate.id) is disabled at a start: \(reason)",
                "start the server, rotate the secret of the delegate or PATCH its settings, then POST "
                    + "/v1/delegates/\(delegate.id)/resume; or restore a backup")
        }
        if disabled.count > Self.maxNamed {
            warn(
                "delegates", "\(disabled.count - Self.maxNamed) more are disabled at a start for this reason",
                "restore a backup, or set them again")
        }
        for found in rows where found.table != "delegates" {
            warn(
                "rows",
                "a start leaves out or replaces rows of \(found.table) that can't be read: \(found.count); "
                    + "the first is \(found.row): \(found.reason)",
                settings.store == nil ? "herald check \(settings.data)" : "restore a backup of the database")
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
