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

    enum Mistake: Error {
        /// An unknown flag; `nearest` has a similar name.
        case unknown(String, nearest: String?)
        case takesNoValue(String)
        case noValue(String, usage: String)
        case secret(String)
    }

    private var rest: ArraySlice<String>
    private var hasOnlyArguments = false

    init(_ words: ArraySlice<String>) { rest = words }

    /// The next argument, or the next flag with its value; `nil` at the end.
    mutating func next(of flags: [Command.Flag]) throws(Mistake) -> Word? {
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
            throw .unknown(name, nearest: Suggestion.nearest(name, flags.map { "--\($0.name)" }))
        }
        if flag.isSecret { throw .secret(flag.name) }
        guard flag.takesValue else {
            if parts.count == 2 { throw .takesNoValue("--\(flag.name)") }
            return .flag(flag, "")
        }
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw .noValue("--\(flag.name)", usage: flag.usage)
        }
        return .flag(flag, value)
    }

    /// Reads the next word, with an error for the user.
    /// - Parameter command: the full name: `herald receiver`.
    mutating func next(of flags: [Command.Flag], command: String) throws(CommandError) -> Word? {
        do throws(Mistake) {
            return try next(of: flags)
        } catch {
            throw CommandError(error.words(of: command))
        }
    }
}

extension ArgumentReader.Mistake {
    fileprivate func words(of command: String) -> String {
        switch self {
        case .unknown(let name, let nearest):
            "\(name) is not a flag of \(command)" + (nearest.map { "; did you mean \($0)?" } ?? ".")
                + " `\(command) --help` lists all."
        case .takesNoValue(let name): "\(name) takes no value."
        case .noValue(let name, let usage): "\(name) needs a value: \(usage)"
        case .secret(let name): "--\(name) would show the secret to everyone who lists the processes."
        }
    }
}
