import Glibc
import HeraldSQLite

/// Shared by the commands for database files.
enum MaintenanceCommand {
    static let data = Command.Flag(
        "data", "FOLDER",
        "The folder of the database. Environment: HERALD_DATA, also in the file HERALD_CONFIG. Default: \(Settings().data)."
    )

    /// The folder that the flag, the environment or the file of settings names, to read or to make.
    /// - Throws: if the events are in a PostgreSQL database: an old folder may be beside it, and the server would not use a new one.
    static func folder(_ call: Invocation) throws(CommandError) -> String {
        if call[data.name] == nil, try setting("store") != nil {
            throw notForDatabases(call, "\(Option.variable("store")) names a PostgreSQL database")
        }
        let folder = if let given = call[data.name] { given } else { try setting(data.name) ?? Settings().data }
        try refuseDatabases(among: [folder], call)
        return folder
    }

    static func refuseDatabases(among paths: [String], _ call: Invocation) throws(CommandError) {
        if paths.contains(where: isAddress) {
            throw notForDatabases(call, "This is the address of a PostgreSQL database")
        }
    }

    static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    private static func notForDatabases(_ call: Invocation, _ reason: String) -> CommandError {
        CommandError(
            "\(reason). `herald \(call.command.name)` is for data folders and backups: "
                + "use the tools of PostgreSQL, such as pg_basebackup and pg_amcheck.")
    }

    /// The environment wins over the file of settings, as in the server.
    private static func setting(_ name: String) throws(CommandError) -> String? {
        let (variable, environment) = (Option.variable(name), Environment.current)
        if let text = environment[variable], !text.isEmpty { return text }
        guard let path = environment[Option.variable(Option.config)], !path.isEmpty else { return nil }
        return try SettingsFile(path).entries.last { $0.variable == variable && !$0.value.isEmpty }?.value
    }

    /// Runs `body` and converts its errors to `CommandError`.
    static func run<Result>(_ body: () throws -> Result) throws(CommandError) -> Result {
        do {
            return try body()
        } catch {
            throw CommandError(explaining: error)
        }
    }

    static func print(_ report: DatabaseCheck.Report) throws(CommandError) {
        for line in report.lines { try Output.line((line.isGood ? "ok   " : "BAD  ") + line.text.printable()) }
    }

    static let exitCodes = """
        Exit codes: 0 success; 64 the command line is wrong; 65 it is damaged; 66 there is nothing to read; 73 the output
        already exists, or the folder is in use; 74 the disk failed.
        """
}

extension ProgressLine {
    private static let width = 40

    mutating func show(_ copied: Int, of all: Int) {
        let percent = all > 0 ? copied * 100 / all : 100
        let full = percent * Self.width / 100
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        show("[\(bar)] \(percent) %")
    }
}
