import Glibc

/// Asks for confirmation before an irreversible action.
enum Confirmation {
    static let flag = Command.Flag(name: "yes", help: "Do not ask for confirmation.")

    /// - Throws: if the answer is no, or if there is no terminal.
    static func ask(
        _ call: Invocation, _ question: () throws(CommandError) -> String
    ) throws(CommandError) {
        if call.has(flag.name) { return }
        let question = try question().printable()
        guard isatty(0) == 1, isatty(2) == 1 else {
            throw CommandError(description: "\(question) Nobody can confirm this here: --yes does it.")
        }
        Output.note("\(question) [y/N] ")
        let answer = readLine()?.lowercased()
        guard answer == "y" || answer == "yes" else {
            throw CommandError(description: "Nothing was done.", exitCode: ExitCode.refused)
        }
    }
}
