import Glibc
import HeraldSQLite

extension Command {
    static let backup = Command(
        name: "backup", summary: "copy a database into one file, while the server runs",
        details: """
            The file has one moment of the database, and a checksum of its own, which `herald check` and `herald restore` compare.
            Secrets are in it as they are in the database. The master key is not in it: keep that elsewhere.
            It is refused if HERALD_STORE names a PostgreSQL database, unless --data names a folder; and if the file would leave
            less than 64 MiB free on the disk of a server that runs.
            TERM and Ctrl-C end it with exit code 130, and the incomplete file is removed.

            \(MaintenanceCommand.exitCodes)
            130: TERM or Ctrl-C ended it, and there is no file.
            """,
        arguments: [Argument(name: "FILE", help: "The file to make.")], flags: [MaintenanceCommand.data],
        examples: ["herald backup monday.backup --data herald-data"],
        action: .run { call throws(CommandError) in
            try MaintenanceCommand.refuseDatabases(among: call.arguments, call)
            // A server on the same machine has priority.
            _ = nice(19)
            let signals = Signals()
            var (bar, isEnded) = (ProgressLine(), false)
            let (folder, path) = (try MaintenanceCommand.folder(call), call.arguments[0])
            let size = try MaintenanceCommand.run {
                defer { bar.end() }
                return try Backup.make(of: folder, to: path) { copied, all in
                    bar.show(copied, of: all)
                    // A signal that came between two steps: the incomplete file is removed.
                    isEnded = isEnded || signals.stop(withinMilliseconds: 0)
                    return !isEnded
                }
            }
            try Output.line("\(folder) → \(path): \(size) bytes")
        })

    static let restore = Command(
        name: "restore", summary: "put the database of a backup into a folder",
        details: """
            The backup is checked first. The folder must be empty or missing, so nothing is overwritten. Start the server with
            it, and with the master key that the backup was made under. Events that were delivered after the backup are not
            in it; those before it that it knows as undelivered are delivered again.
            It is refused if HERALD_STORE names a PostgreSQL database, unless --data names a folder.
            TERM and Ctrl-C end it, and the folder stays empty.

            \(MaintenanceCommand.exitCodes)
            130: TERM or Ctrl-C ended the copy.
            """,
        arguments: [Argument(name: "FILE", help: "A backup.")], flags: [MaintenanceCommand.data],
        examples: ["herald restore monday.backup --data restored"],
        action: .run { call throws(CommandError) in
            try MaintenanceCommand.refuseDatabases(among: call.arguments, call)
            let folder = try MaintenanceCommand.folder(call)
            // While the backup is checked, nothing has to be removed: a signal ends the process.
            lazy var signals = Signals()
            try MaintenanceCommand.run {
                try Backup.restore(call.arguments[0], to: folder) { !signals.stop(withinMilliseconds: 0) }
            }
            try Output.line("\(folder): restored")
        })
}
