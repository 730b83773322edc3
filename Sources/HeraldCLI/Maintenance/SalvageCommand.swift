import HeraldSQLite

extension Command {
    static let salvage = Command(
        name: "salvage", summary: "copy the intact rows of a damaged database into a new folder",
        details: """
            Stop the server first. The damaged folder stays unchanged. The new folder keeps all positions of the log: a lost event
            leaves an entry that is never served or sent. The write-ahead log is read up to its first damaged page. Later commits
            are missing. If anything is missing, the exit code is 65.

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
