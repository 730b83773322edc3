import HeraldSQLite

extension Command {
    static let check = Command(
        name: "check", summary: "say whether a database or a backup is intact",
        details: """
            Reads everything and changes nothing. It checks the write-ahead log, the structure of the file, the checksum of each
            event, the values of all other rows, and the consistency of log, lanes and deliveries. The server may run.

            \(MaintenanceCommand.exitCodes)
            """,
        arguments: [
            Argument(
                name: "PATH", help: "A data folder or a backup. Default: HERALD_DATA, or \(Settings().data).",
                isOptional: true)
        ],
        examples: ["herald check herald-data", "herald check monday.backup"],
        action: .run { call throws(CommandError) in
            try MaintenanceCommand.refuseDatabases(among: call.arguments, call)
            let path = if let given = call.arguments.first { given } else { try MaintenanceCommand.folder(call) }
            let report = try MaintenanceCommand.run { try DatabaseCheck.run(path) }
            try MaintenanceCommand.print(report)
            if report.isGood { return }
            throw CommandError(
                "\(path) is damaged. `herald salvage` copies all that is intact, `herald restore` puts back a backup.",
                exitCode: ExitCode.data)
        })
}
