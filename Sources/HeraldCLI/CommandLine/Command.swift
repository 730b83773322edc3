import HeraldRuntime

/// A command: the parser, `--help`, shell completions and the manual page are made from it.
struct Command: Sendable {
    enum Action: Sendable {
        case group([Command])
        case run(@Sendable (Invocation) throws(CommandError) -> Void)
        /// Parses its own arguments.
        case own(@Sendable ([String]) throws(CommandError) -> Void)
    }

    let name: String
    /// One line without a full stop.
    let summary: String
    /// Details, in lines of at most 100 characters.
    var details = ""
    var arguments: [Argument] = []
    var flags: [Flag] = []
    /// Complete command lines.
    var examples: [String] = []
    /// The output of `--help`; `nil` if it is made from the other members.
    var helpText: (@Sendable () -> String)?
    let action: Action

    var commands: [Command] {
        if case .group(let commands) = action { return commands }
        return []
    }

    var sentence: String { summary.prefix(1).uppercased() + summary.dropFirst() + "." }

    struct Argument: Sendable {
        /// In capitals.
        let name: String
        let help: String
        var isOptional = false
        /// Whether the last argument may be repeated.
        var repeats = false

        var usage: String { (isOptional ? "[\(name)]" : name) + (repeats ? "..." : "") }
    }

    struct Flag: Sendable {
        /// Without dashes.
        let name: String
        /// The value's placeholder in the help; `nil` if it takes none.
        let placeholder: String?
        let help: String
        /// The possible values, if there are few: for completion.
        let values: [String]
        /// The end of the error for a value that is not in `values`; `nil` if others are valid too.
        let rule: String?
        /// One letter that may stand for the name, with one dash.
        let letter: Character?
        let time: TimeDirection?
        /// The name in the API, if it differs from the flag's.
        let member: String?
        /// To be set instead of a secret, which every user could see in the list of processes; `nil` for other flags.
        let variable: String?

        init(
            _ name: String, _ placeholder: String?, _ help: String, values: [String] = [], rule: String? = nil,
            letter: Character? = nil, time: TimeDirection? = nil, member: String? = nil, variable: String? = nil
        ) {
            self.name = name
            self.placeholder = placeholder
            self.help = help
            self.values = values
            self.rule = rule
            self.letter = letter
            self.time = time
            self.member = member
            self.variable = variable
        }

        var takesValue: Bool { placeholder != nil }

        /// - Throws: if only `values` are valid, and this is none of them.
        func check(_ value: String) throws(CommandError) {
            guard let rule, !values.contains(value) else { return }
            throw CommandError("--\(name) is \"\(value)\", but must be \(rule).".printable())
        }

        /// The usage text: `--limit NUMBER`.
        var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (placeholder.map { " \($0)" } ?? "") }
    }
}

/// A parsed command line.
struct Invocation: Sendable {
    let command: Command
    let arguments: [String]
    /// By the name of the flag, in order; flags without a value have an empty one.
    let flags: [String: [String]]

    func has(_ flag: String) -> Bool { flags[flag] != nil }

    /// The last value that was given.
    subscript(_ flag: String) -> String? { flags[flag]?.last }

    /// All values of a flag that may be given again, each a list with commas.
    func list(_ flag: String) -> [String]? {
        flags[flag]?.flatMap { $0.split(separator: ",").map(String.init) }
    }

    /// The parameters of a request that have the names of these flags.
    func query(_ flags: String...) -> [(String, String?)] {
        flags.map { ($0.replaced("-", by: "_"), self[$0]) }
    }

    func number(_ flag: String, _ range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = self[flag] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw CommandError(
                "--\(flag) is \"\(text)\", but must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
