import HeraldModel
import HeraldRuntime

extension Command {
    static let man = Command(
        name: "man", summary: "print the manual page", examples: ["herald man | man -l -"],
        action: .run { _ throws(CommandError) in try Output.line(ManPage.text) })
}

/// herald(1), made from the table of commands, with the macros of man(7).
enum ManPage {
    static var text: String {
        var lines = [
            ".TH HERALD 1 \"\" \"herald \(heraldVersion)\" \"User Commands\"",
            ".SH NAME", "herald \\- store events and deliver them to webhooks",
            ".SH SYNOPSIS", ".B herald", ".I COMMAND", "[\\fIARGUMENTS\\fR] [\\fIFLAGS\\fR]",
            ".SH DESCRIPTION",
            plain(
                "Programs publish events to Herald over HTTP. Herald stores each event on disk and calls every webhook "
                    + "that is registered for it. Each callback is signed, retried until the receiver accepts it, and "
                    + "recorded. This command is the server, and the client of a server."),
            ".SH COMMANDS",
        ]
        for command in Command.all { lines += section(command, path: "herald") }
        lines += [".SH ENVIRONMENT"]
        for (variable, help) in Flags.variables + [("NO_COLOR", "When it is set and not empty, output has no colours.")]
        {
            lines += [".TP", ".B " + plain(variable), plain(help)]
        }
        for option in Option.all {
            lines += [".TP", ".B " + plain(option.variable), plain("Of herald serve: " + option.help)]
        }
        lines += [".SH EXIT STATUS"]
        for (code, meaning) in ExitCode.ofClients { lines += [".TP", ".B \(code)", plain(meaning + ".")] }
        return lines.joined(separator: "\n")
    }

    private static func section(_ command: Command, path: String) -> [String] {
        let name = "\(path) \(command.name)"
        if !command.commands.isEmpty { return command.commands.flatMap { section($0, path: name) } }
        let usage = ([name] + command.arguments.map(\.usage)).joined(separator: " ")
        var lines = [".SS " + plain(usage), plain(command.sentence)]
        if !command.details.isEmpty {
            lines += [".PP"] + command.details.split(separator: "\n").map { plain(String($0)) }
        }
        for argument in command.arguments { lines += [".TP", ".I " + plain(argument.name), plain(argument.help)] }
        for flag in command.flags {
            lines += [
                ".TP",
                (flag.letter.map { "\\fB\(plain("-\($0)"))\\fR, " } ?? "") + "\\fB\(plain("--" + flag.name))\\fR"
                    + (flag.placeholder.map { " \\fI\(plain($0))\\fR" } ?? ""),
            ]
            lines.append(plain(flag.help))
        }
        if !command.examples.isEmpty {
            lines += [".PP", ".nf"] + command.examples.map(plain) + [".fi"]
        }
        return lines
    }

    /// Text escaped for roff.
    private static func plain(_ text: String) -> String {
        let escaped = text.replaced("\\", by: "\\e").replaced("-", by: "\\-")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }
}
