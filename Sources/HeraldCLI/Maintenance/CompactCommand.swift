import HeraldSQLite

extension Command {
    static let compact = Command(
        name: "compact",
        summary: "write a database anew, without free space, so that it can shrink by itself from then on",
        details: """
            The server must not run. The new file is written beside the old one, which needs as much space again, and then takes its
            place. A database that Herald 0.1 made, of more than 256 MiB, needs this once: its file does not give back the space of
            what is removed. Newer and smaller ones do it by themselves.

            \(MaintenanceCommand.exitCodes)
            """,
        arguments: [
            Argument(
                name: "FOLDER", help: "A data folder. Default: HERALD_DATA, or \(Settings().data).", isOptional: true)
        ],
        examples: ["herald compact herald-data"],
        action: .run { call throws(CommandError) in
            let folder = call.arguments.first ?? MaintenanceCommand.folder(call)
            let size = try MaintenanceCommand.run { try Compaction.run(folder) }
            try Output.line("\(folder): \(size.before) bytes before, \(size.after) bytes now")
        })
}
