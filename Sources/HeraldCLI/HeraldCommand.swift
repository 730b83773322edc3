import Glibc
import HeraldCrypto
import HeraldModel
import HeraldRuntime

@main
struct HeraldCommand {
    static func main() {
        // A file or a connection with the number of a closed output would get what is printed. Used the wrong way, these fail.
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
        // Before any secret is read: keys come from files and from the environment.
        ProcessMemory.hide()
        // Before libcurl and libpq, which would read OPENSSL_CONF. What needs libcrypto says if this fails.
        _ = try? CryptoLibrary.prepare()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do throws(CommandError) {
            try run(arguments)
        } catch {
            if !error.description.isEmpty { Output.message("herald: \(error.description)\n") }
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

    static func serve(_ arguments: [String]) throws(CommandError) {
        exit(try Server.run(try Settings(ofProcess: arguments)))
    }

    static func rewrap(_ call: Invocation) throws(CommandError) {
        let settings = try Settings(call)
        let isSealed = try MaintenanceCommand.run { try Rewrap.run(settings, environment: Environment.current) }
        let state = isSealed ? "encrypted with the new key" : "stored in plain text"
        try Output.line("The secrets in \(settings.data) are now \(state).")
    }
}
