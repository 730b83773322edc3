enum CommandParser {
    enum Result: Sendable {
        case run(@Sendable () throws(CommandError) -> Void)
        case help(path: [Command])
    }

    /// - Parameter arguments: without the program's name; at least one.
    static func parse(_ arguments: [String], _ commands: [Command] = Command.all) throws(CommandError) -> Result {
        var path: [Command] = []
        var commands = commands
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if !path.isEmpty && isHelp(word) { return .help(path: path) }
            guard let command = commands.first(where: { $0.name == word }) else {
                throw unknown(word, in: path, commands)
            }
            path.append(command)
            switch command.action {
            case .group(let inner): commands = inner
            case .own(let run):
                let arguments = Array(rest)
                if arguments.contains(where: isHelp) { return .help(path: path) }
                return .run { () throws(CommandError) in try run(arguments) }
            case .run(let run):
                if rest.prefix(while: { $0 != "--" }).contains(where: isHelp) { return .help(path: path) }
                let invocation = try invocation(of: command, path, rest)
                return .run { () throws(CommandError) in try run(invocation) }
            }
        }
        let names = path.map(\.name).joined(separator: " ")
        throw CommandError(
            "herald \(names) is followed by one of: " + commands.map(\.name).joined(separator: ", ") + ".")
    }

    private static func isHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }

    private static func unknown(_ word: String, in path: [Command], _ commands: [Command]) -> CommandError {
        let herald = (["herald"] + path.map(\.name)).joined(separator: " ")
        guard !word.hasPrefix("-") else {
            return CommandError(
                "\(word) comes before a command. Flags follow the command; `\(herald) --help` lists all commands.")
        }
        let known = Suggestion.nearest(word, commands.map(\.name)).map { " Did you mean \($0)?" } ?? ""
        let what = "There is no command \(path.map { $0.name + " " }.joined())\(word)."
        return CommandError("\(what)\(known) `\(herald) --help` lists all.")
    }

    /// Flags and arguments in any order.
    private static func invocation(
        of command: Command, _ path: [Command], _ rest: ArraySlice<String>
    ) throws(CommandError) -> Invocation {
        let herald = "herald " + path.map(\.name).joined(separator: " ")
        var arguments: [String] = []
        var flags: [String: [String]] = [:]
        var reader = ArgumentReader(rest)
        while let word = try reader.next(of: command.flags, command: herald) {
            switch word {
            case .argument(let argument): arguments.append(argument)
            case .flag(let flag, let value):
                try flag.check(value)
                flags[flag.name, default: []].append(try flag.time?.value(value, of: flag) ?? value)
            }
        }
        try check(arguments, of: command, herald)
        return Invocation(command: command, arguments: arguments, flags: flags)
    }

    private static func check(_ given: [String], of command: Command, _ herald: String) throws(CommandError) {
        let usage = ([herald] + command.arguments.map(\.usage)).joined(separator: " ")
        let wanted = command.arguments.filter { !$0.isOptional }
        if given.count < wanted.count {
            throw CommandError("\(wanted[given.count].name) is missing: \(usage)")
        }
        if let empty = given.firstIndex(of: "") {
            let argument = command.arguments.indices.contains(empty) ? command.arguments[empty] : command.arguments.last
            throw CommandError("\(argument?.name ?? "An argument") is empty: \(usage)")
        }
        if given.count > command.arguments.count, command.arguments.last?.repeats != true {
            let flags = command.flags.isEmpty ? "" : " [FLAGS]. `\(herald) --help` lists the flags."
            throw CommandError("\"\(given[command.arguments.count])\" is too much: \(usage)\(flags)")
        }
    }
}
