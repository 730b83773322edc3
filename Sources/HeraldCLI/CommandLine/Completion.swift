import HeraldRuntime

extension Command {
    static let completion = Command(
        name: "completion", summary: "print a script that completes commands and flags in a shell",
        arguments: [Argument(name: "SHELL", help: "bash, zsh or fish.")],
        examples: [
            "herald completion bash > ~/.local/share/bash-completion/completions/herald",
            "herald completion zsh > ~/.zfunc/_herald    # a folder in fpath, before compinit",
            "herald completion fish > ~/.config/fish/completions/herald.fish",
        ],
        action: .run { call throws(CommandError) in
            switch call.arguments[0] {
            case "bash": try Output.line(Completion.bash)
            case "zsh": try Output.line(Completion.zsh)
            case "fish": try Output.line(Completion.fish)
            case let other:
                throw CommandError("There is no completion for \(other): bash, zsh or fish.")
            }
        })
}

/// Completion scripts for shells, made from the table of commands. Each script finds the command before the cursor, as
/// a path such as `/delegates/add`, and offers the words that can follow.
enum Completion {
    /// A command, or the program itself, with the words that can follow.
    private struct Place {
        let path: String
        let commands: [Command]
        let flags: [Command.Flag]
    }

    private static var places: [Place] {
        func below(_ path: String, _ commands: [Command]) -> [Place] {
            commands.flatMap { command in
                [Place(path: "\(path)/\(command.name)", commands: command.commands, flags: command.flags + [help])]
                    + below("\(path)/\(command.name)", command.commands)
            }
        }
        return [Place(path: "", commands: Command.all, flags: [help])] + below("", Command.all)
    }

    private static let help = Command.Flag("help", nil, "Say more.")

    private static var paths: String { places.dropFirst().map(\.path).joined(separator: "|") }

    static var bash: String {
        let words = places.map { place in
            let names: [String] = place.commands.map(\.name) + place.flags.map { "--\($0.name)" }
            return "        '\(place.path)') words='\(names.joined(separator: " "))' ;;"
        }
        return """
            # Completes herald in bash: `herald completion bash` made this.
            _herald() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} path='' words='' i
                COMPREPLY=()
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case $path/${COMP_WORDS[i]} in
                        \(paths)) path+=/${COMP_WORDS[i]} ;;
                    esac
                done
                case "$path $previous" in
            \(values { "        '\($0) --\($1)') words='\($2.joined(separator: " "))' ;;" })
            \(placeholders(") return ;;"))
                    *)
                        case $path in
            \(words.map { "        " + $0 }.joined(separator: "\n"))
                        esac
                        ;;
                esac
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            }
            complete -o default -F _herald herald
            """
    }

    static var zsh: String {
        let words = places.map { place in
            let commands = place.commands.map { quoted("\($0.name):\($0.summary)") }.joined(separator: " ")
            let flags = place.flags.map { quoted("--\($0.name):\($0.help)") }.joined(separator: " ")
            return "                '\(place.path)') commands_=(\(commands)) flags_=(\(flags)) ;;"
        }
        return """
            #compdef herald
            # Completes herald in zsh: `herald completion zsh` made this.
            _herald() {
                local path_='' i
                local -a commands_ flags_
                for ((i = 2; i < CURRENT; i++)); do
                    case $path_/${words[i]} in
                        \(paths)) path_+=/${words[i]} ;;
                    esac
                done
                case "$path_ ${words[CURRENT - 1]}" in
            \(values { "        '\($0) --\($1)') commands_=(\($2.map(quoted).joined(separator: " "))) ;;" })
            \(placeholders(") _files; return ;;"))
                    *)
                        case $path_ in
            \(words.joined(separator: "\n"))
                        esac
                        ;;
                esac
                if [[ $PREFIX == -* ]]; then
                    _describe -o flag flags_
                elif (( $#commands_ )); then
                    _describe command commands_
                else
                    _files
                fi
            }
            if [[ $funcstack[1] == _herald ]]; then _herald "$@"; else compdef _herald herald; fi
            """
    }

    static var fish: String {
        // Statements, not one expression, whose types the compiler would search for a second.
        var lines: [String] = []
        for place in places {
            let start = "complete -c herald -n '__herald_at \"\(place.path)\"'"
            for command in place.commands {
                lines.append("\(start) -f -a \(command.name) -d \(quoted(command.summary))")
            }
            for flag in place.flags {
                let letter: String = flag.letter.map { "-s \($0) " } ?? ""
                let value: String = flag.placeholder == nil ? "" : " -r"
                let words: String = flag.values.isEmpty ? "" : " -f -a '\(flag.values.joined(separator: " "))'"
                lines.append("\(start) \(letter)-l \(flag.name) -d \(quoted(flag.help))\(value)\(words)")
            }
        }
        return """
            # Completes herald in fish: `herald completion fish` made this.
            function __herald_at
                set -l path ''
                for word in (commandline -opc)[2..-1]
                    if contains -- $path/$word \(places.dropFirst().map(\.path).joined(separator: " "))
                        set path $path/$word
                    end
                end
                test "$path" = "$argv[1]"
            end
            \(lines.joined(separator: "\n"))
            """
    }

    /// A line for each flag with known values.
    private static func values(_ line: (String, String, [String]) -> String) -> String {
        places.flatMap { place in
            place.flags.filter { !$0.values.isEmpty }.map { line(place.path, $0.name, $0.values) }
        }.joined(separator: "\n")
    }

    /// A line for the flags with arbitrary values, such as a file.
    private static func placeholders(_ end: String) -> String {
        var flags: [String] = []
        for place in places {
            for flag in place.flags where flag.placeholder != nil && flag.values.isEmpty {
                flags.append("'\(place.path) --\(flag.name)'")
                if let letter = flag.letter { flags.append("'\(place.path) -\(letter)'") }
            }
        }
        return "        " + flags.joined(separator: "|") + end
    }

    private static func quoted(_ text: String) -> String { "'" + text.replaced("'", by: "'\\''") + "'" }
}
