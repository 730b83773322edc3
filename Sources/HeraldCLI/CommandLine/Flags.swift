/// Flags that several commands share.
enum Flags {
    static let server = Command.Flag(
        name: "server", placeholder: "URL",
        help: "The server. Environment: HERALD_SERVER. Default: that of the profile, or http://127.0.0.1:8080.")
    static let authorities = Command.Flag(
        name: "certificate-authorities", placeholder: "FILE",
        help: "Certificate authorities (PEM) for an https server. Environment: HERALD_CERTIFICATE_AUTHORITIES.")
    static let clientCertificate = Command.Flag(
        name: "client-certificate", placeholder: "FILE",
        help: "A certificate (PEM) for an https server that requires one. Environment: HERALD_CLIENT_CERTIFICATE.")
    static let clientKey = Command.Flag(
        name: "client-key", placeholder: "FILE",
        help: "The private key (PEM) of --client-certificate. Environment: HERALD_CLIENT_KEY.")
    static let json = Command.Flag(name: "json", help: "Print the response of the server: JSON, one document per line.")

    /// The flags of every command that uses a server.
    static let client = [json] + connection
    static let connection = [server, profile, keyFile, app, authorities, clientCertificate, clientKey]

    static let profile = Command.Flag(
        name: "profile", placeholder: "NAME",
        help: "The server and key that `herald login` has stored by this name. Environment: HERALD_PROFILE.")

    static let app = Command.Flag(
        name: "app", placeholder: "NAME",
        help: "The app to act on, for admin keys. Environment: HERALD_APP. Default: the key's own.")

    static let keyFile = Command.Flag(
        name: "key-file", placeholder: "FILE",
        help: "A file with the access key. Environment: HERALD_KEY_FILE, or the key itself as HERALD_KEY.")

    static let output = Command.Flag(
        name: "output", placeholder: "FORM",
        help: "narrow: short ids, relative times, hosts of URLs. wide: everything. Default: narrow on a terminal.",
        values: Table.Form.allCases.map(\.rawValue), rule: "narrow or wide; for JSON use --json")
    /// The flags of commands that print a list page by page.
    static let list = [limit, everything, output]

    static let limit = Command.Flag(
        name: "limit", placeholder: "NUMBER", help: "How many at most. Default: 50.")
    static let everything = Command.Flag(name: "all", help: "All of them.")
    static let dryRun = Command.Flag(name: "dry-run", help: "Only report what would be done.")
}
