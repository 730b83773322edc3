/// How a client trusts an https server, and identifies itself. There is no way to trust any certificate, because the access
/// key would be sent to any server: `authorities` names the certificate of a server for tests.
struct ClientTLS {
    /// Files in PEM; `nil` for the authorities of the system, and for none.
    let authorities: String?
    let certificate: String?
    let key: String?

    init(_ call: Invocation) throws(CommandError) {
        func value(_ flag: Command.Flag, _ variable: String) -> String? {
            call[flag.name] ?? Environment.current[variable]
        }
        authorities = value(Flags.authorities, "HERALD_CERTIFICATE_AUTHORITIES")
        certificate = value(Flags.clientCertificate, "HERALD_CLIENT_CERTIFICATE")
        key = value(Flags.clientKey, "HERALD_CLIENT_KEY")
        guard (certificate == nil) == (key == nil) else {
            let missing = key == nil ? Flags.clientKey : Flags.clientCertificate
            throw CommandError("--client-certificate and --client-key belong together: --\(missing.name) is missing.")
        }
    }
}
