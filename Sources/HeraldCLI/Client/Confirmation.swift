import Glibc

/// Asks before something is done that can't be undone.
enum Confirmation {
    static let flag = Command.Flag(name: "yes", help: "Do not ask for confirmation.")

    /// - Throws: where the answer is no, or where nobody can be asked.
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
