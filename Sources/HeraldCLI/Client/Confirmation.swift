import Glibc

/// Requests confirmation before something is deleted.
enum Confirmation {
    static let flag = Command.Flag("yes", nil, "Do not ask for confirmation.")

    /// - Parameter isNamed: one thing goes, and the command names it: a script needs no `--yes` for that.
    /// - Throws: if the answer is no, or if there is no terminal.
    static func ask(
        _ call: Invocation, isNamed: Bool = false, _ question: () throws(CommandError) -> String
    ) throws(CommandError) {
        if call.has(flag.name) { return }
        let hasTerminal = isatty(0) == 1 && isatty(2) == 1
        if isNamed && !hasTerminal { return }
        let question = try question().printable()
        guard hasTerminal else {
            throw CommandError("\(question) There is no terminal to confirm this: use --yes.")
        }
        Output.message("\(question) [y/N] ")
        let answer = readLine()?.lowercased()
        guard answer == "y" || answer == "yes" else {
            throw CommandError("Nothing was done.", exitCode: ExitCode.refused)
        }
    }
}
