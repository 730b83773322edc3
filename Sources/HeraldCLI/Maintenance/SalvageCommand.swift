import HeraldSQLite

extension Command {
    static let salvage = Command(
        name: "salvage", summary: "copy all that is intact of a damaged database into a new folder",
        details: """
            The server must not run. The damaged folder is left as it is. The new one keeps all positions of the log: an event that
            is lost leaves an entry that is never served or sent. A write-ahead log is read past a damaged page.

            \(MaintenanceCommand.exitCodes)
            """,
        arguments: [
            Argument(name: "FOLDER", help: "The damaged folder."),
            Argument(name: "NEW-FOLDER", help: "The folder to make."),
        ],
        examples: ["herald salvage herald-data salvaged"],
        action: .run { call throws(CommandError) in
            let report = try MaintenanceCommand.run { try Salvage.run(from: call.arguments[0], to: call.arguments[1]) }
            try MaintenanceCommand.print(report)
            try Output.line(
                report.isGood
                    ? "\(call.arguments[1]): everything was copied"
                    : "\(call.arguments[1]): all that is intact was copied")
        })
}
