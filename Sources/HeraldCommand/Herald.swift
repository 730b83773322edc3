import Glibc

/// The command `herald`.
@main
struct HeraldCommand {
    static let version = "0.1.0"

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard let command = arguments.first else {
            print(Help.overview)
            exit(ExitCode.usage)
        }
        arguments.removeFirst()
        switch command {
        case "serve": serve(arguments)
        case "health": health(arguments)
        case "rewrap": rewrap(arguments)
        case "receiver": receiver(arguments)
        case "--help", "-h", "help": print(Help.text(for: arguments.first))
        case "--version", "-V", "version": print("herald \(version)")
        default:
            complain("There is no command \(command). `herald --help` lists what there is.")
            exit(ExitCode.usage)
        }
    }

    private static func serve(_ arguments: [String]) {
        if arguments.contains("--help") || arguments.contains("-h") { return print(Help.serve) }
        let settings = read(arguments)
        exit(Server.run(settings))
    }

    private static func health(_ arguments: [String]) {
        if arguments.contains("--help") || arguments.contains("-h") { return print(Help.health) }
        let settings = read(arguments)
        if let problem = HealthCheck.problem(at: settings.listen) {
            complain(problem)
            exit(1)
        }
        print("ok")
    }

    private static func rewrap(_ arguments: [String]) {
        if arguments.contains("--help") || arguments.contains("-h") { return print(Help.rewrap) }
        let settings = read(arguments)
        do {
            try Rewrap.run(settings, newKey: Environment.current["HERALD_NEW_MASTER_KEY"])
            print("The secrets in \(settings.data) are sealed anew.")
        } catch let error as UsageError {
            complain(error.description)
            exit(error.exitCode)
        } catch {
            let (code, text) = Server.explain(error)
            complain(text)
            exit(code)
        }
    }

    private static func receiver(_ arguments: [String]) {
        if arguments.contains("--help") || arguments.contains("-h") { return print(Help.receiver) }
        do throws(UsageError) {
            try ReceiverCommand.run(try ReceiverSettings(arguments))
        } catch {
            complain(error.description)
            exit(error.exitCode)
        }
    }

    private static func read(_ arguments: [String]) -> Settings {
        do throws(SettingsError) {
            return try Settings(arguments: arguments, environment: Environment.current)
        } catch {
            complain(error.description)
            exit(ExitCode.usage)
        }
    }

    private static func complain(_ text: String) {
        var line = "herald: \(text)\n"
        _ = line.withUTF8 { write(2, $0.baseAddress, $0.count) }
    }
}

/// As in `sysexits.h`.
enum ExitCode {
    static let usage: Int32 = 64
    /// The data can't be used: corrupt, or of a newer version.
    static let data: Int32 = 65
    static let unavailable: Int32 = 69
    static let software: Int32 = 70
    static let cannotCreate: Int32 = 73
    static let inputOutput: Int32 = 74
}

enum Environment {
    /// All variables that begin with `HERALD_`, whether they mean something or not.
    static var current: [String: String] {
        var result: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0].hasPrefix("HERALD_") { result[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return result
    }
}
