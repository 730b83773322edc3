enum Flags {
    static let server = Command.Flag(
        "server", "URL",
        "The server. Environment: HERALD_SERVER. Default: that of the profile, or http://127.0.0.1:8080.")
    static let authorities = Command.Flag(
        "certificate-authorities", "FILE",
        "Certificate authorities (PEM) for an https server. Environment: HERALD_CERTIFICATE_AUTHORITIES.")
    static let clientCertificate = Command.Flag(
        "client-certificate", "FILE",
        "A certificate (PEM) for an https server that requires one. Environment: HERALD_CLIENT_CERTIFICATE.")
    static let clientKey = Command.Flag(
        "client-key", "FILE", "The private key (PEM) of --client-certificate. Environment: HERALD_CLIENT_KEY.")
    static let json = Command.Flag("json", nil, "Print the response of the server: JSON, one document per line.")

    /// The flags of every command that uses a server.
    static let client = [json] + connection
    static let connection = [server, profile, keyFile, app, authorities, clientCertificate, clientKey]

    static let profile = Command.Flag(
        "profile", "NAME",
        "The server and key that `herald login` has stored by this name. Environment: HERALD_PROFILE.")

    static let app = Command.Flag(
        "app", "NAME", "The app to act on, for admin keys. Environment: HERALD_APP. Default: the key's own.")

    static let keyFile = Command.Flag(
        "key-file", "FILE", "A file with the access key. Environment: HERALD_KEY_FILE, or the key itself as HERALD_KEY."
    )

    /// The attempts of a list or stream.
    static let outcome = Command.Flag(
        "outcome", "OUTCOME", "Only those with this result: succeeded, failed.", values: ["succeeded", "failed"])

    /// The event of a preview or of a test call.
    static let sample = [
        Command.Flag("event", "ID", "An event that was published."),
        Command.Flag("type", "TYPE", "The example of this type of event."),
    ]

    static let output = Command.Flag(
        "output", "FORM",
        "narrow: short ids, relative times, hosts of URLs. wide: everything. Default: narrow on a terminal.",
        values: Table.Form.allCases.map(\.rawValue), rule: "narrow or wide; for JSON use --json")
    /// The flags of commands that print a list page by page.
    static let list = [limit, everything, output]

    static let limit = Command.Flag("limit", "NUMBER", "How many at most. Default: 50.")
    static let everything = Command.Flag("all", nil, "All of them.")
    static let dryRun = Command.Flag("dry-run", nil, "Only report what would be done.")

    /// The environment of client commands.
    static let variables = [
        ("HERALD_SERVER", "The server of client commands, when --server is not given."),
        ("HERALD_KEY", "The access key of client commands."),
        ("HERALD_APP", "As --app."),
        ("HERALD_PROFILE", "As --profile."),
        ("HERALD_KEY_FILE", "A file with the access key, when --key-file is not given."),
        ("HERALD_CERTIFICATE_AUTHORITIES", "As --certificate-authorities."),
        ("HERALD_CLIENT_CERTIFICATE", "As --client-certificate."),
        ("HERALD_CLIENT_KEY", "As --client-key."),
    ]
}
