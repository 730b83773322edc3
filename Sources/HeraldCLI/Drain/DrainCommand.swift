import Glibc
import HeraldPostgres
import HeraldSQLite
import HeraldStore

extension Command {
    static let drain = Command(
        name: "drain", summary: "publish the events that programs have committed in their database",
        details: """
            A program inserts events into a table in its transaction: they are published if and only if it commits. The
            command publishes the rows in batches, and then deletes or marks them. The id of a row is the id of its event,
            so Herald publishes it once, also after a crash. Several drains may run on one table of PostgreSQL. While the
            database or Herald does not respond, the command waits. TERM and Ctrl-C end it after the batch. Set the password
            of the database in PGPASSWORD or a password file (PGPASSFILE).

            --columns names the columns of an event: id, type, data (JSON), and optionally subject, time and deliver_at.
            --messages needs no table: it reads messages of pg_logical_emit_message(true, 'herald', EVENT) from
            a replication slot of pgoutput, in the order of the commits. EVENT is JSON as in the API.

            A refused event ends the command with exit code 65, after the events before it. With --refused the event is
            appended to a file, and the command continues.
            """,
        arguments: [
            Argument(
                name: "DATABASE", help: "The address of a database: postgres://user@host/database.", isOptional: true)
        ],
        flags: [
            Flag("sqlite", "FILE", "An SQLite database, instead of DATABASE."),
            Flag("table", "TABLE", "The table: outbox, or shop.outbox in another schema."),
            Flag("columns", "LIST", "The columns: id=id,type=kind,data=payload. Default: id, type, data and subject."),
            Flag("order", "COLUMN", "The column that orders the rows. Default: that of the id."),
            Flag(
                "after", "delete|mark=COLUMN",
                "What happens to a published row. A mark is a boolean or a time. Default: delete."),
            Flag("messages", "SLOT", "Read messages from this replication slot, instead of a table."),
            Flag("publication", "NAME", "With --messages: a publication without tables. Default: herald."),
            Flag("refused", "FILE", "Append events that Herald refuses, one per line, and continue."),
            Flag("once", nil, "End when nothing is left."),
        ] + Flags.connection,
        examples: [
            "herald drain postgres://app@db/shop --table outbox --columns id=id,type=kind,data=payload,subject=key",
            "herald drain --sqlite app.db --table outbox --after mark=published_at",
            "herald drain postgres://app@db/shop --messages herald_slot",
        ],
        action: .run { call throws(CommandError) in
            let signals = Signals()
            let outbox = try outbox(call)
            let client = try APIClient(call)
            let refused = try call["refused"].map { path throws(CommandError) in try RefusedFile(path) }
            var drainer = Drainer(outbox, client, refused, signals)
            try drainer.run(once: call.has("once"))
        })

    private static func outbox(_ call: Invocation) throws(CommandError) -> any Outbox {
        let address = call.arguments.first
        guard (address == nil) != (call["sqlite"] == nil) else {
            throw CommandError("One database is needed: its address, or --sqlite FILE.")
        }
        try Option.refusePassword(in: call.arguments)
        if let file = call["sqlite"], access(file, F_OK) != 0, errno == ENOENT {
            throw CommandError("There is no file \(file).".printable(), exitCode: ExitCode.noInput)
        }
        do throws(OutboxError) {
            if let slot = call["messages"] {
                guard let address else { throw .unusable("--messages needs a PostgreSQL database.") }
                if let other = ["table", "columns", "order", "after"].first(where: call.has) {
                    throw .unusable("--messages reads no table: leave out --\(other).")
                }
                return try MessageSlot(url: address, slot: slot, publication: call["publication"] ?? "herald")
            }
            if call.has("publication") { throw .unusable("--publication belongs to --messages.") }
            let table = try table(call)
            if let address { return try PostgresOutbox(url: address, table) }
            return try SQLiteOutbox(path: call["sqlite"] ?? "", table)
        } catch {
            switch error {
            case .unavailable(let reason): throw CommandError(reason, exitCode: ExitCode.unavailable)
            case .unusable(let reason): throw CommandError(reason.printable())
            }
        }
    }

    private static func table(_ call: Invocation) throws(OutboxError) -> OutboxTable {
        guard let text = call["table"] else { throw .unusable("--table is missing: the table with the events.") }
        let names = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }), let name = names.last else {
            throw .unusable("--table is \"\(text)\", but must be a table, or a schema and a table.")
        }
        let columns = try columns(call.list("columns") ?? ["id", "type", "data", "subject"])
        guard let id = columns.first(where: { $0.part == .id }) else { throw .unusable("--columns has no id.") }
        return OutboxTable(
            schema: names.count == 2 ? names[0] : nil, name: name, columns: columns,
            order: call["order"] ?? id.column, disposal: try disposal(call["after"] ?? "delete"))
    }

    private static func columns(_ texts: [String]) throws(OutboxError) -> [(part: OutboxPart, column: String)] {
        var columns: [(part: OutboxPart, column: String)] = []
        for text in texts {
            let words = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let part = OutboxPart(rawValue: words[0]), words.last?.isEmpty == false else {
                let parts = OutboxPart.allCases.map(\.rawValue).joined(separator: ", ")
                throw .unusable("--columns has \"\(text)\", but needs PART=COLUMN. The parts are \(parts).")
            }
            guard !columns.contains(where: { $0.part == part }) else {
                throw .unusable("--columns has \(part.rawValue) twice.")
            }
            columns.append((part, words.last ?? ""))
        }
        guard columns.contains(where: { $0.part == .type }) else { throw .unusable("--columns has no type.") }
        return columns
    }

    private static func disposal(_ text: String) throws(OutboxError) -> OutboxTable.Disposal {
        if text == "delete" { return .delete }
        guard text.hasPrefix("mark="), text != "mark=" else {
            throw .unusable("--after is \"\(text)\", but must be delete or mark=COLUMN.")
        }
        return .mark(column: String(text.dropFirst(5)))
    }
}
