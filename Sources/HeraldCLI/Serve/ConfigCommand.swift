import HeraldJSON

extension Command {
    static let config = Command(
        name: "config", summary: "print the settings of a server, and where each comes from",
        details: """
            Takes the flags of `herald serve`, the environment and the file of --config as it does, and refuses what it refuses.
            Secrets are not shown.
            """,
        flags: Settings.flagsOfServe + [Flag("json", nil, "Print one JSON document.")],
        examples: ["herald config", "herald config --config /etc/herald/herald.conf --json"],
        action: .run { call throws(CommandError) in
            let settings = try Settings(call)
            if call.has("json") { return try Output.write(settings.json + [10]) }
            var table = Table("SETTING", .text("VALUE"), "FROM")
            try table.print(
                Option.all.map { option in
                    let given = settings.given[option.name]
                    return [
                        .init(option.isSecret ? option.variable : "--\(option.name)"),
                        .init(settings.shown(option) ?? option.defaultText, given == nil ? .faint : .plain),
                        .init(given.map { settings.place(of: option, $0.source) } ?? "default", .faint),
                    ]
                })
        })
}

extension Settings {
    /// The flags of `herald serve`, for commands that need its settings.
    static let flags = Option.all.filter { !$0.isSecret }.map(\.commandFlag)

    /// For the other commands, whose help does not repeat that of `herald serve`.
    static let flagsOfServe = flags.map {
        Command.Flag($0.name, $0.placeholder, "As for herald serve.")
    }

    /// The settings that `herald serve` would have with the flags of this call.
    init(_ call: Invocation, collectsMistakes: Bool = false) throws(CommandError) {
        let arguments = Self.flags.flatMap { flag in (call.flags[flag.name] ?? []).map { "--\(flag.name)=\($0)" } }
        try self.init(ofProcess: arguments, collectsMistakes: collectsMistakes)
    }

    /// The settings of these arguments, and of the environment of this process.
    init(ofProcess arguments: [String], collectsMistakes: Bool = false) throws(CommandError) {
        do throws(SettingsError) {
            try self.init(
                arguments: arguments, environment: Environment.current, credentials: Environment.credentials,
                collectsMistakes: collectsMistakes)
        } catch {
            throw CommandError(error.description)
        }
    }

    /// The text that was given for an option, unless it is a secret; `nil` if none was.
    fileprivate func shown(_ option: Option) -> String? {
        given[option.name].map { option.hides($0.text) ? "***" : $0.text }
    }

    fileprivate func place(of option: Option, _ source: Source) -> String {
        switch source {
        case .flag: "--\(option.name)"
        case .environment: option.variable
        case .file(let line): "\(file ?? ""):\(line)"
        case .credential: "credential"
        }
    }

    fileprivate var json: [UInt8] {
        JSONWriter.document {
            $0.member("file", file)
            $0.array("settings") { list in
                for option in Option.all {
                    list.object {
                        $0.member("name", option.name)
                        $0.member("variable", option.variable)
                        $0.member("default", option.defaultText)
                        $0.member("value", shown(option))
                        $0.member("from", given[option.name].map { place(of: option, $0.source) })
                    }
                }
            }
        }
    }
}
