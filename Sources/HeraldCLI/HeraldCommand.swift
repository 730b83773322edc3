import Glibc
import HeraldCore
import HeraldRuntime

/// The command `herald`.
@main
struct HeraldCommand {
    static func main() {
        // Before any secret is read: keys come from files and from the environment.
        ProcessMemory.hide()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do throws(CommandError) {
            try run(arguments)
        } catch {
            if !error.description.isEmpty { complain(error.description) }
            exit(error.exitCode)
        }
    }

    private static func run(_ arguments: [String]) throws(CommandError) {
        switch arguments.first {
        case nil:
            try Output.line(Help.overview)
            exit(ExitCode.usage)
        case "--help", "-h", "help": try Output.line(try Help.text(forTopic: Array(arguments.dropFirst())))
        case "--version", "-V": try Output.line("herald \(heraldVersion)")
        default:
            switch try CommandParser.parse(arguments) {
            case .run(let run): try run()
            case .help(let path): try Output.line(Help.text(for: path))
            }
        }
    }

    static func serve(_ arguments: [String]) {
        let settings = read(arguments)
        do throws(CommandError) {
            exit(try Server.run(settings))
        } catch {
            complain(error.description)
            exit(error.exitCode)
        }
    }

    static func rewrap(_ arguments: [String]) {
        let settings = read(arguments)
        do {
            try Rewrap.run(settings, environment: Environment.current)
            print("The secrets in \(settings.data) are now encrypted with the new key.")
        } catch let error as CommandError {
            complain(error.description)
            exit(error.exitCode)
        } catch {
            let (code, text) = ExitCode.explain(error)
            complain(text)
            exit(code)
        }
    }

    static func receiver(_ arguments: [String]) {
        do throws(CommandError) {
            try ReceiverCommand.run(try ReceiverSettings(arguments))
        } catch {
            complain(error.description)
            exit(error.exitCode)
        }
    }

    private static func read(_ arguments: [String]) -> Settings {
        do throws(SettingsError) {
            return try Settings(
                arguments: arguments, environment: Environment.current, credentials: Environment.credentials)
        } catch {
            complain(error.description)
            exit(ExitCode.usage)
        }
    }

    private static func complain(_ text: String) {
        Output.message("herald: \(text)\n")
    }
}
