import Glibc
import HeraldCore
import HeraldSQLite
import HeraldStore

/// Shared by the commands for database files.
enum MaintenanceCommand {
    static let data = Command.Flag(
        name: "data", placeholder: "FOLDER",
        help: "The folder of the database. Environment: HERALD_DATA. Default: \(Settings().data).")

    static func folder(_ call: Invocation) -> String {
        call[data.name] ?? Environment.current[Option.variable(data.name)] ?? Settings().data
    }

    /// Runs `body` and converts its errors to `CommandError`.
    static func run<Result>(_ body: () throws -> Result) throws(CommandError) -> Result {
        do {
            return try body()
        } catch let error as CommandError {
            throw error
        } catch let error as MaintenanceError {
            throw CommandError(description: error.description, exitCode: code(error.kind))
        } catch let error as MoveError {
            throw CommandError(description: error.description, exitCode: code(error.kind))
        } catch {
            let (code, text) = ExitCode.explain(error)
            throw CommandError(description: text, exitCode: code)
        }
    }

    private static func code(_ kind: MaintenanceError.Kind) -> Int32 {
        switch kind {
        case .input: ExitCode.noInput
        case .output: ExitCode.cannotCreate
        case .damage: ExitCode.data
        case .cancelled: ExitCode.interrupted
        }
    }

    private static func code(_ kind: MoveError.Kind) -> Int32 {
        switch kind {
        case .input: ExitCode.noInput
        case .output: ExitCode.cannotCreate
        case .damage: ExitCode.data
        case .busy: ExitCode.temporary
        case .failed: ExitCode.software
        }
    }

    /// Prints a line for each check.
    static func print(_ report: DatabaseCheck.Report) throws(CommandError) {
        for line in report.lines { try Output.line((line.isGood ? "ok   " : "BAD  ") + line.text.printable()) }
    }

    /// For the help of these commands.
    static let exitCodes = """
        Exit codes: 0 success; 64 the command line is wrong; 65 it is damaged; 66 there is nothing to read; 73 the output
        already exists, or the folder is in use; 74 the disk failed.
        """
}
