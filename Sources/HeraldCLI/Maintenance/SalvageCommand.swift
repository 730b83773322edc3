import HeraldSQLite

extension Command {
    static let salvage = Command(
        name: "salvage", summary: "copy all that is intact of a damaged database into a new folder",
        details: """
            The server must not run. The damaged folder is left as it is. The new one keeps all positions of the log: an event that
            is lost leaves an entry that is never served or sent. A write-ahead log is read up to its first damaged page: commits
            after it are missing. If anything is missing, the exit code is 65, and the new folder has the rest.

            \(MaintenanceCommand.exitCodes)
            """,
        arguments: [
            Argument(name: "FOLDER", help: "The damaged folder."),
            Argument(name: "NEW-FOLDER", help: "The folder to make."),
        ],
        examples: ["herald salvage herald-data salvaged"],
        action: .run { call throws(CommandError) in
            try MaintenanceCommand.refuseDatabases(among: call.arguments, call)
            let report = try MaintenanceCommand.run { try Salvage.run(from: call.arguments[0], to: call.arguments[1]) }
            try MaintenanceCommand.print(report)
            if report.isGood { return try Output.line("\(call.arguments[1]): everything was copied") }
            throw CommandError(
                "\(call.arguments[1]): all that is intact was copied; the lines with BAD say what is missing.",
                exitCode: ExitCode.data)
        })
}
