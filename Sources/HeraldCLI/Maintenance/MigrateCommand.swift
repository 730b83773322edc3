import HeraldPostgres
import HeraldSQLite
import HeraldStore

extension Command {
    static let migrate = Command(
        name: "migrate", summary: "move everything from a data folder to a PostgreSQL database, or back",
        details: """
            Stop the servers of FROM first. The command copies everything, and reads it again to compare it. Then it marks FROM as
            moved, so that no server starts on it. Nothing in FROM is removed. After an interruption, run the same command again:
            it starts over. Give the servers of TO the same master key. TO must be empty, or belong to an earlier migration of
            the same events: then its content is replaced. Set the password of the database in PGPASSWORD or a password file
            (PGPASSFILE).

            Exit codes: 0 everything is moved; 64 the command line is wrong; 65 FROM is damaged, of another version, or was moved
            already; 66 there is nothing to move; 69 the database cannot be reached; 73 TO has other events; 74 the disk failed;
            75 a server uses FROM or TO: stop it, and run the command again.
            """,
        arguments: [
            Argument(name: "FROM", help: "A data folder, or the address of a database: postgres://user@host/database."),
            Argument(name: "TO", help: "The target: an address of a database, or a data folder if FROM is a database."),
        ],
        examples: [
            "herald migrate herald-data postgres://herald@db1/herald",
            "herald migrate postgres://herald@db1/herald herald-data",
        ],
        action: .run { call throws(CommandError) in
            let (from, to) = (call.arguments[0], call.arguments[1])
            guard MaintenanceCommand.isAddress(from) != MaintenanceCommand.isAddress(to) else {
                throw CommandError(
                    "One of FROM and TO is a data folder, the other one the address of a database: "
                        + "postgres://user@host/database.")
            }
            try Option.refusePassword(in: [from, to].filter(MaintenanceCommand.isAddress))
            try MaintenanceCommand.run { try run(from: from, to: to) }
        })

    private static func run(from: String, to: String) throws {
        let source: any MoveEnd =
            MaintenanceCommand.isAddress(from) ? try PostgresMoveEnd(source: from) : try SQLiteMoveEnd(source: from)
        let target: any MoveEnd =
            MaintenanceCommand.isAddress(to) ? try PostgresMoveEnd(target: to) : try SQLiteMoveEnd(target: to)
        var bar = ProgressLine()
        defer { bar.end() }
        let moved = try Move(from: source, to: target).run { bar.show($0, of: $1) }
        bar.end()
        try Output.line(
            "\(target.label): \(moved.events) events, \(moved.attempts) attempts and \(moved.rows) other rows, "
                + "as in \(source.label)")
    }
}
