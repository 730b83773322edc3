import Glibc
import HeraldSQLite

extension Command {
    static let backup = Command(
        name: "backup", summary: "copy a database into one file, while the server runs",
        details: """
            The file is a snapshot of the database, with a checksum that `herald check` and `herald restore` verify.
            Secrets are encrypted if the server has a master key. The file does not contain the master key: store it elsewhere.
            The command fails if HERALD_STORE names a PostgreSQL database and --data is missing, or if the file would leave
            less than 64 MiB free on the disk of a running server.
            TERM and Ctrl-C end the command with exit code 130, and remove the incomplete file.

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
            the folder, and with the master key of the backup. The server continues from the time of the backup: later events
            are missing, and later deliveries are made again.
            The command fails if HERALD_STORE names a PostgreSQL database and --data is missing.
            TERM and Ctrl-C end the command, and the folder stays empty.

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
