/// The output of `--help`, made from the table of commands.
enum Help {
    static var overview: String {
        """
        Herald is a webhook delivery service: it stores events and calls every URL that is registered for them.

        Usage: herald COMMAND

        Commands:
        \(entries(Command.all.map { ($0.name, $0.summary) }))

        Start with:  herald serve
        `herald COMMAND --help` explains one.
        """
    }

    /// - Parameter path: a command, preceded by its parents.
    static func text(for path: [Command]) -> String {
        guard let command = path.last else { return overview }
        if let text = command.helpText { return text() }
        let herald = (["herald"] + path.map(\.name)).joined(separator: " ")
        var parts: [String] = []
        if command.commands.isEmpty {
            let words = [herald] + command.arguments.map(\.usage) + (command.flags.isEmpty ? [] : ["[FLAGS]"])
            parts.append("Usage: " + words.joined(separator: " "))
        } else {
            parts.append("Usage: \(herald) COMMAND")
        }
        parts.append(command.sentence + (command.details.isEmpty ? "" : "\n\n" + command.details))
        if !command.commands.isEmpty {
            parts.append("Commands:\n" + entries(command.commands.map { ($0.name, $0.summary) }))
            parts.append("`\(herald) COMMAND --help` explains one.")
        }
        if !command.arguments.isEmpty { parts.append(entries(command.arguments.map { ($0.name, $0.help) })) }
        if !command.flags.isEmpty { parts.append("Flags:\n" + entries(command.flags.map { ($0.usage, $0.help) })) }
        if !command.examples.isEmpty {
            parts.append("Examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        }
        if command.flags.contains(where: { $0.name == Flags.keyFile.name }) {
            parts.append("Exit codes:\n" + entries(ExitCode.ofClients.map { ("\($0.code)", $0.meaning) }))
        }
        return parts.joined(separator: "\n\n")
    }

    /// Names and their descriptions, in two columns.
    static func entries(_ entries: [(String, String)]) -> String {
        let width = 1 + (entries.map(\.0.count).filter { $0 < 24 }.max() ?? 0)
        return entries.map { name, help in
            let gap =
                name.count < width
                ? String(repeating: " ", count: width - name.count) : "\n" + String(repeating: " ", count: width + 2)
            return "  \(name)\(gap) \(help)"
        }.joined(separator: "\n")
    }

    /// The output of `herald help TOPIC...`.
    static func text(forTopic words: [String]) throws(CommandError) -> String {
        if words == ["table"] { return table }
        if words == ["environment"] { return environmentFile }
        guard !words.isEmpty else { return overview }
        var path: [Command] = []
        for word in words {
            let known = path.last.map(\.commands) ?? Command.all
            guard let command = known.first(where: { $0.name == word }) else {
                let nearest = Suggestion.nearest(word, known.map(\.name)).map { " Did you mean \($0)?" } ?? ""
                throw CommandError("There is no command \(words.joined(separator: " ")).\(nearest)")
            }
            path.append(command)
        }
        return text(for: path)
    }
}
