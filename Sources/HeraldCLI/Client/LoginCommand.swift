import Glibc
import HeraldJSON
import HeraldRuntime

extension Command {
    static let login = Command(
        name: "login", summary: "store a server and its access key for later commands",
        details: """
            Checks the key with the server, and stores both in ~/.config/herald/config, readable by you only. The key comes from --key-file,
            from HERALD_KEY, or from standard input; on a terminal it is not shown. Later commands use the profile "default",
            unless --profile, --server or HERALD_SERVER names another.
            """,
        flags: [
            Flag("profile", "NAME", "The name of the profile. Default: default.")
        ] + Flags.connection.filter { $0.name != "profile" && $0.name != "app" },
        examples: [
            "herald login --server https://herald.example.com",
            "herald login --server http://10.0.0.5:8080 --profile test",
        ],
        action: .run(logIn))

    static let logout = Command(
        name: "logout", summary: "remove a stored server and its key",
        flags: [Flag("profile", "NAME", "The name of the profile. Default: default.")],
        action: .run { call throws(CommandError) in
            let name = try profileName(call)
            let profiles = try ProfileFile.read()
            guard let profile = profiles.first(where: { $0.name == name }) else {
                throw CommandError(
                    "There is no profile \"\(name)\" in \(ProfileFile.path).", exitCode: ExitCode.refused)
            }
            try ProfileFile.write(profiles.filter { $0.name != name })
            let key = profile.key == nil ? "" : " Its key is still valid: `herald keys revoke` ends it."
            try Output.line("Removed the profile \"\(name)\"." + key)
        })

    static let open = Command(
        name: "open", summary: "print a link that opens the dashboard",
        details: """
            With an admin key, the link signs in to the dashboard of one app, once: that of --app, or else `default`. With other keys, and without
            one, it is the address of the dashboard.
            """,
        flags: [PortalLink.lifetime("the link")] + Flags.client, action: .run(showLink))

    private static func logIn(_ call: Invocation) throws(CommandError) {
        let name = try profileName(call)
        let server = APIClient.namedServer(call) ?? APIClient.defaultServer
        var key = try APIClient.key(call["key-file"], Environment.current)
        if key == nil { key = try typed() }
        let client = try APIClient(
            server: server, key: key, tls: try ClientTLS(call))
        let session = try client.session().json
        let others = try ProfileFile.read().filter { $0.name != name }
        try ProfileFile.write(others + [Profile(name: name, server: client.server, key: key)])
        let scopes = session.text("scopes")
        let right =
            key == nil ? "without a key, which it does not require" : "app \(session.text("app")), scopes: \(scopes)"
        try Output.line("Stored \(client.server) as the profile \"\(name)\" (\(right)).".printable())
    }

    private static func showLink(_ call: Invocation) throws(CommandError) {
        let link = try PortalLink(call)
        let client = try APIClient(call)
        let session = try client.send("GET", ["v1", "session"]).json
        let isAdmin = session["scopes"]?.elements.contains { $0.isString("admin") } == true
        guard client.hasKey, isAdmin else {
            let url = client.server + "/"
            guard call.has("json") else { return try Output.line(url) }
            return try Output.line(json: JSONWriter.document { $0.member("url", url) })
        }
        try link.print(client, app: client.app ?? session.text("app"))
    }

    private static func profileName(_ call: Invocation) throws(CommandError) -> String {
        let name = call["profile"] ?? Environment.current["HERALD_PROFILE"] ?? Profile.defaultName
        guard name.isPlainName(limit: 64) else {
            throw CommandError(
                "The profile is \"\(name)\", but must be 1 to 64 letters, digits, dots, dashes and underscores.")
        }
        return name
    }

    /// A key from standard input; `nil` if the line is empty.
    private static func typed() throws(CommandError) -> String? {
        let hasTerminal = isatty(0) == 1
        var terminal = termios()
        if hasTerminal {
            tcgetattr(0, &terminal)
            // Ctrl-C would leave the terminal without its echo.
            try Signals().observe { [terminal] _, _ in
                restoreEcho(terminal)
                _exit(ExitCode.interrupted)
            }
            var silent = terminal
            silent.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(0, TCSAFLUSH, &silent)
            Output.message("Access key (empty if the server requires none): ")
        }
        let line = readLine() ?? ""
        if hasTerminal { restoreEcho(terminal) }
        guard line.isEmpty || KeyFile.isKey(line) else {
            throw CommandError(
                "That is not an access key: 20 to 255 visible ASCII characters.", exitCode: ExitCode.data)
        }
        return line.isEmpty ? nil : line
    }

    private static func restoreEcho(_ terminal: termios) {
        var terminal = terminal
        tcsetattr(0, TCSAFLUSH, &terminal)
        Output.message("\n")
    }
}
