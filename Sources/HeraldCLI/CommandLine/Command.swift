/// One command: what is parsed, explained by `--help`, completed by shells and told in the man page all comes from here.
struct Command: Sendable {
    enum Action: Sendable {
        /// Has commands of its own.
        case group([Command])
        case run(@Sendable (Invocation) throws(CommandError) -> Void)
        /// Reads its arguments and explains itself.
        case own(help: @Sendable () -> String, run: @Sendable ([String]) -> Void)
    }

    let name: String
    /// One line without a full stop.
    let summary: String
    /// More about it, in lines of at most 100 characters.
    var details = ""
    var arguments: [Argument] = []
    var flags: [Flag] = []
    /// Lines that work as they are.
    var examples: [String] = []
    let action: Action

    var commands: [Command] {
        if case .group(let commands) = action { return commands }
        return []
    }

    /// The summary as a sentence.
    var sentence: String { summary.prefix(1).uppercased() + summary.dropFirst() + "." }

    /// What stands after the command, besides flags.
    struct Argument: Sendable {
        /// In capitals.
        let name: String
        let help: String
        var isOptional = false
        /// The last one may.
        var repeats = false

        var usage: String { (isOptional ? "[\(name)]" : name) + (repeats ? "..." : "") }
    }

    struct Flag: CommandLineFlag, Sendable {
        /// Without dashes.
        let name: String
        /// What stands for the value in the help; `nil`: it takes none.
        var placeholder: String?
        let help: String
        /// What the value can be, when that is a short list: for completion.
        var values: [String] = []
        /// Of a flag that is typed often, with one dash.
        var letter: Character?
        /// Of a flag that takes a time.
        var time: TimeDirection?
        /// What the API calls it, where that is not the name of the flag or close to it.
        var member: String?

        var takesValue: Bool { placeholder != nil }
        var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (placeholder.map { " \($0)" } ?? "") }
    }
}

/// A command line that was understood.
struct Invocation: Sendable {
    let command: Command
    let arguments: [String]
    /// By the name of the flag, in order; those without a value have an empty one.
    let flags: [String: [String]]

    func has(_ flag: String) -> Bool { flags[flag] != nil }

    /// The last value that was given.
    subscript(_ flag: String) -> String? { flags[flag]?.last }

    /// All values of a flag that may be given again, each a list with commas.
    func list(_ flag: String) -> [String]? {
        flags[flag]?.flatMap { $0.split(separator: ",").map(String.init) }
    }

    func number(_ flag: String, _ range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = self[flag] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw CommandError(
                description:
                    "--\(flag) is \"\(text)\", but must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
