import Glibc
import HeraldPostgres
import HeraldSQLite
import HeraldStore

extension Command {
    static let migrate = Command(
        name: "migrate", summary: "move everything from a data folder to a PostgreSQL database, or back",
        details: """
            Servers may use FROM while the events are copied. Then stop them, and run the same command again, or let it wait: it
            copies the rest, verifies everything, and marks FROM as moved, so that no server starts on it. You can interrupt it at
            any time; run the same command to continue. Nothing in FROM is removed. Numbers, keys and secrets stay as they
            are: give the servers of TO the same master key. TO must be empty, or have taken part in an earlier migration of the
            same events. PGPASSWORD or a password file (PGPASSFILE) has the password of the database.

            Exit codes: 0 everything is moved; 64 the command line is wrong; 65 FROM is damaged, of another version, or was moved
            already; 66 there is nothing to move; 69 the database cannot be reached; 73 TO has other events, or is in use; 74 the
            disk failed; 75 copied so far: stop the servers, and run it again.
            """,
        arguments: [
            Argument(name: "FROM", help: "A data folder, or the address of a database: postgres://user@host/database."),
            Argument(name: "TO", help: "The target: an address of a database, or a data folder if FROM is a database."),
        ],
        flags: [
            Flag(
                name: "wait", help: "Wait until the servers of FROM are stopped, and copy what they accept until then.")
        ],
        examples: [
            "herald migrate herald-data postgres://herald@db1/herald --wait",
            "herald migrate postgres://herald@db1/herald herald-data",
        ],
        action: .run { call throws(CommandError) in
            let (from, to) = (call.arguments[0], call.arguments[1])
            guard isAddress(from) != isAddress(to) else {
                throw CommandError(
                    description: "One of FROM and TO is a data folder, the other one the address of a database: "
                        + "postgres://user@host/database.")
            }
            if [from, to].contains(where: { isAddress($0) && Option.holdsPassword($0) }) {
                throw CommandError(
                    description: "The password in the address would be visible in the list of processes; "
                        + "put it into a password file (PGPASSFILE), or set PGPASSWORD.")
            }
            try MaintenanceCommand.run { try run(from: from, to: to, waits: call.has("wait")) }
        })

    private static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    private static func run(from: String, to: String, waits: Bool) throws {
        let source: any MoveEnd =
            isAddress(from) ? try PostgresMoveEnd(source: from) : try SQLiteMoveEnd(source: from)
        let target: any MoveEnd = isAddress(to) ? try PostgresMoveEnd(target: to) : try SQLiteMoveEnd(target: to)
        let move = try Move(from: source, to: target)
        var bar = ProgressBar()
        defer { bar.end() }
        var (copied, all) = (0, try move.missing())
        func note(_ count: Int) {
            copied += count
            all = max(all, copied)
            bar.show(copied, of: all)
        }
        var (rounds, hasAsked) = (0, false)
        while try !source.lock() {
            rounds += 1
            // What comes while this copies is soon little, unless more comes than can be copied.
            if try move.copy(progress: note) > 1000, rounds < 20 { continue }
            guard waits else {
                throw MoveError(
                    kind: .busy,
                    description: "\(source.label) is copied so far. Now stop the servers that use it, and run this "
                        + "again: it copies the rest.")
            }
            if !hasAsked {
                bar.end()
                Output.note("Now stop the servers that use \(source.label).\n")
                hasAsked = true
            }
            // The stop of a server is found by trying its lock again.
            usleep(100_000)
        }
        guard try target.lock() else {
            throw MoveError(kind: .output, description: "A server uses \(target.label). Stop it first.")
        }
        let moved = try move.complete(progress: note)
        bar.end()
        try Output.line(
            "\(target.label): \(moved.events) events, \(moved.attempts) attempts and \(moved.rows) other rows, "
                + "as in \(source.label)")
    }
}
