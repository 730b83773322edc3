/// Parses a command line: the one set of rules for all commands.
///
/// A flag is `--name`, or `-n` with a letter; its value is the next word, or follows `=`. After `--` all words are
/// arguments, and so is `-`.
struct ArgumentReader {
    enum Word {
        case argument(String)
        /// With its value; empty if it takes none.
        case flag(Command.Flag, String)
    }

    private var rest: ArraySlice<String>
    private var hasOnlyArguments = false

    init(_ words: ArraySlice<String>) { rest = words }

    /// The next argument, or the next flag with its value; `nil` at the end.
    /// - Parameter command: the full name: `herald receiver`.
    mutating func next(of flags: [Command.Flag], command: String) throws(CommandError) -> Word? {
        if !hasOnlyArguments, rest.first == "--" {
            rest.removeFirst()
            hasOnlyArguments = true
        }
        guard let word = rest.popFirst() else { return nil }
        guard !hasOnlyArguments, word.hasPrefix("-"), word != "-" else { return .argument(word) }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let found = flags.first { flag in
            name == "--\(flag.name)" || flag.letter.map { name == "-\($0)" } ?? false
        }
        guard let flag = found else {
            let nearest = Suggestion.nearest(name, flags.map { "--\($0.name)" }).map { "; did you mean \($0)?" }
            throw CommandError("\(name) is not a flag of \(command)\(nearest ?? ".") `\(command) --help` lists all.")
        }
        if let variable = flag.variable {
            throw CommandError(
                "--\(flag.name) would show the secret to everyone who lists the processes; set \(variable) instead.")
        }
        guard flag.takesValue else {
            if parts.count == 2 { throw CommandError("--\(flag.name) takes no value.") }
            return .flag(flag, "")
        }
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw CommandError("--\(flag.name) needs a value: \(command) \(flag.usage)")
        }
        return .flag(flag, value)
    }
}
