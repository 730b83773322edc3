/// An error of a store. The descriptions are for operators.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is open in another process, or in this one (`thisProcess`); `holder` says which.
    case inUse(path: String, holder: String)
    case notWritable(path: String, reason: String)
    /// It is not a Herald database, or it is damaged. It was left untouched.
    case corrupt(path: String, reason: String)
    /// The write-ahead log has lost commits that were acknowledged. Nothing was touched.
    case logDamaged(path: String, reason: String)
    /// Written by a later version of Herald.
    case newer(path: String, found: Int, supported: Int)
    /// Its schema version is lower than the first one that this version of Herald supports.
    case older(path: String, found: Int, supported: Int)
    /// Its secrets are encrypted, and the given key, if any, is not theirs. It was left untouched.
    case sealed(path: String, reason: String)
    /// No space. Nothing was written; may succeed later.
    case full
    /// The device failed to read or write. Nothing was written; may succeed later.
    case inputOutput(reason: String)
    /// Flushing to the device failed: data that was reported durable may be lost. The process has to stop.
    case syncFailed(reason: String)
    /// A file that is open was removed, moved, replaced or cut while the process ran. Nothing is written any more, and the process
    /// has to open the folder again.
    case lost(path: String, file: String)
    /// It is not as this process has left it: another process has written to it, or what was flushed is missing. Nothing is
    /// written any more, and the process has to restart.
    case replaced(path: String, reason: String)
    /// It takes part in a migration to another store, or was moved to one. It was left untouched.
    case moved(path: String, reason: String)
    /// The store can't be reached. Nothing was written; may succeed later.
    case unavailable(reason: String)
    /// The connection to the store was lost: what was to be written may have been written, or not.
    case unknown(reason: String)
    /// Another process has changed what a transaction has read, or the two have waited for each other. Nothing was written. The
    /// hub runs the transaction again.
    case outdated
    /// It holds a value that Herald cannot have written. Nothing was changed.
    case unreadable(reason: String)
    /// Any other error, including bugs in Herald.
    case failed(reason: String)

    package static let thisProcess = "this process"

    /// A description of the error, for operators.
    public var description: String {
        switch self {
        case .inUse(let path, Self.thisProcess):
            "\(path) is in use by this process. Stop the hub that uses it first, or choose another data folder."
        case .inUse(let path, let holder):
            "\(path) is in use by \(holder). Stop that process first, or choose another store "
                + "(`herald serve --data`, or `--store`)."
        case .notWritable(let path, let reason) where Self.isOnServer(path):
            "\(path) can't be used: \(reason). Check the database and the rights of its role, or choose another store "
                + "(`herald serve --data`, or `--store`)."
        case .notWritable(let path, let reason):
            "\(path) can't be written: \(reason). Check the owner and the permissions, or choose another path."
        case .corrupt(let path, let reason) where Self.isOnServer(path):
            "\(path) is not a readable Herald database: \(reason). It was left untouched: restore a backup of it, or "
                + "choose another store (`herald serve --data`, or `--store`)."
        case .corrupt(let path, let reason):
            "\(path) is not a readable Herald database: \(reason). It was left untouched: `herald check` says "
                + "what is damaged, `herald restore` puts back a backup, and `herald salvage` copies all that is intact."
        case .logDamaged(let path, let reason):
            "\(path) has lost acknowledged events: \(reason). Nothing was touched. Keep a copy of the folder; `herald check FOLDER` "
                + "says what is damaged, and `herald salvage FOLDER NEW-FOLDER` copies all that is intact."
        case .newer(let path, let found, let supported):
            "\(path) has schema version \(found); this version of Herald supports up to \(supported). It was left "
                + "untouched: use the version of Herald that wrote it, or a later one."
        case .older(let path, let found, let supported):
            "\(path) has schema version \(found); this version of Herald supports \(supported) and later. It was left "
                + "untouched: use the version of Herald that has made it, or choose another store (`herald serve --data`, or `--store`)."
        case .sealed(let path, let reason):
            "The secrets in \(path) are encrypted, \(reason). Provide the master key that encrypted them: "
                + "HERALD_MASTER_KEY or --master-key-file of the server, or masterKey of Hub.Options."
        case .full: "The disk is full."
        case .inputOutput(let reason): "The disk reported an error: \(reason)."
        case .syncFailed(let reason): "Flushing to the disk failed: \(reason)."
        case .lost(let path, let file):
            "\(path) no longer has the \(file) that is open: it was removed, moved, replaced or cut. Nothing is written any more. "
                + "Put the folder back as it was, and start again; after a cut, `herald check` says what is missing."
        case .replaced(let path, let reason):
            "\(path) is not as this process has left it: \(reason). Nothing is written any more. Start the process again."
        case .moved(let path, let reason): "\(path) \(reason)."
        case .unavailable(let reason): "The store can't be reached: \(reason)."
        case .unknown(let reason): "It is not known whether the store has written what it was given: \(reason)."
        case .outdated: "What was read from the store has changed in the meantime."
        case .unreadable(let reason):
            "The database can't be read: \(reason). Another program has changed it, or it is damaged. Nothing was changed: "
                + "`herald check` says what is wrong in a data folder, and a backup puts back what was there."
        case .failed(let reason): "The store failed: \(reason)."
        }
    }

    /// Whether it is a database on a server. The commands that check, restore and salvage a data folder refuse it.
    package static func isOnServer(_ path: String) -> Bool { path.hasPrefix("postgres://") }
}

extension StoreError {
    /// A transaction that is not a deciding one has requested the end of the log.
    package static let headIsUnknown = StoreError.failed(
        reason: "the end of the log is known in deciding transactions only")

    /// The path in `.replaced` when this process can't follow the others: the store lacks what it needs, or has something else.
    package static let followed = "The store"
}
