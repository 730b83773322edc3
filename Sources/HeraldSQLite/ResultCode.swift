import CHeraldSQLite
import Glibc
import HeraldModel

extension StoreError {
    /// The error for a result code of SQLite.
    /// - Parameters:
    ///   - code: the extended result code.
    ///   - errno: of the failed system call; 0 if there was none.
    init(code: Int32, errno systemError: Int32, message: String, path: String) {
        let detail = systemError == 0 ? "SQLite code \(code)" : String(cString: strerror(systemError))
        let reason = "\(message) (\(detail))"
        switch (code, code & 0xff) {
        case (herald_sqlite_ioerr_fsync(), _), (herald_sqlite_ioerr_dir_fsync(), _):
            self = .syncFailed(reason: reason)
        case (_, SQLITE_FULL):
            self = .full
        case (_, SQLITE_IOERR) where systemError == ENOSPC || systemError == EDQUOT:
            self = .full
        case (_, SQLITE_IOERR):
            self = .inputOutput(reason: reason)
        case (_, SQLITE_CORRUPT), (_, SQLITE_NOTADB):
            self = .corrupt(path: path, reason: message)
        case (herald_sqlite_cantopen_symlink(), _):
            self = .notWritable(path: path, reason: "it is a symbolic link")
        case (_, SQLITE_READONLY), (_, SQLITE_CANTOPEN), (_, SQLITE_PERM):
            self = .notWritable(path: path, reason: reason)
        case (_, SQLITE_INTERRUPT):
            self = .failed(reason: "the read took longer than \(Connection.readSeconds) s and was given up")
        default:
            self = .failed(reason: reason)
        }
    }

    /// The error of a read: SQLite reports a page that the disk has failed to read as damaged.
    /// - Parameter systemError: of the last system call on the database file that has failed; 0 if there was none.
    func ofRead(errno systemError: Int32) -> StoreError {
        guard case .corrupt(let path, _) = self, systemError == EIO || systemError == ENXIO else { return self }
        return .inputOutput(reason: "\(path): \(String(cString: strerror(systemError)))")
    }
}
