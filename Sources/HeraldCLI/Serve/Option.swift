import HeraldAPI
import HeraldCrypto
import HeraldModel
import HeraldRuntime
import HeraldWebhooks

/// One setting: a flag of `herald serve`, and an environment variable. The flag wins.
struct Option: Sendable {
    /// Without dashes: `allow-networks`; the variable is `HERALD_ALLOW_NETWORKS`.
    let name: String
    let placeholder: String
    let defaultText: String
    let help: String
    /// Only as an environment variable: every user could see a flag in the list of processes.
    let isSecret: Bool
    /// Sets the value, or throws a description of the valid values.
    let set: @Sendable (String, inout Settings) throws(Disallowed) -> Void

    init(
        _ name: String, _ placeholder: String, _ defaultText: String, _ help: String, isSecret: Bool = false,
        set: @escaping @Sendable (String, inout Settings) throws(Disallowed) -> Void
    ) {
        self.name = name
        self.placeholder = placeholder
        self.defaultText = defaultText
        self.help = help
        self.isSecret = isSecret
        self.set = set
    }

    struct Disallowed: Error {
        let allowed: String
    }

    var commandFlag: Command.Flag { Command.Flag(name, placeholder, help, variable: isSecret ? variable : nil) }

    var variable: String { Self.variable(name) }

    /// Whether it is a setting of OpenTelemetry.
    static func isStandard(_ name: String) -> Bool { name.hasPrefix("otel-") }

    /// The specification of OpenTelemetry treats an empty variable as one that is not set.
    func countsAsUnset(_ text: String) -> Bool { text.isEmpty && Self.isStandard(name) }

    /// The name of the one that names a file of others.
    static let config = "config"

    /// The settings of OpenTelemetry have the names that its specification gives them.
    static func variable(_ name: String) -> String {
        (isStandard(name) ? "" : "HERALD_")
            + name.uppercased().map { $0 == "-" ? "_" : $0 }.reduce(into: "") { $0.append($1) }
    }
}

extension Option {
    private static let standard = Settings()

    /// All settings. The help and the table of `Documentation/reference/configuration.md` are made from this list.
    static let all: [Option] = own + traces

    private static let own: [Option] = [
        Option(
            config, "FILE", "none",
            "A file of settings: lines NAME=value with the names of the variables. Variables and flags win. Read again after HUP."
        ) { text, _ throws(Disallowed) in _ = try file(text) },
        Option(
            "listen", "HOST:PORT", standard.listen.description,
            "The address to listen on. With port 0 the system chooses a port; the line \"listening\" of the log names it."
        ) { text, settings throws(Disallowed) in
            settings.listen = try valid(
                Endpoint(text), "an address and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80")
        },
        Option(
            "data", "FOLDER", standard.data,
            "The folder of the database. Created if it is missing; one process uses it at a time."
        ) { text, settings throws(Disallowed) in
            settings.data = try valid(text.isEmpty ? nil : text, "the path of a folder")
        },
        Option(
            "store", "URL", "none: the data folder",
            "A PostgreSQL database instead of the data folder: postgres://user@host1,host2/database. Several servers may share it."
        ) { text, settings throws(Disallowed) in
            guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
                throw Disallowed(allowed: "the address of a PostgreSQL database: postgres://user@host/database")
            }
            settings.store = text
        },
        Option(
            "allow-networks", "LIST", "none",
            "Private networks that callbacks may reach: 10.1.0.0/16, 192.168.1.5:8080, ... Loopback (127.0.0.0/8,::1/128) is open without this setting only on a server that listens on loopback and has no access key."
        ) { text, settings throws(Disallowed) in settings.allowNetworks = try networks(text) },
        Option(
            "deny-networks", "LIST", "none",
            "Networks that callbacks must not reach. Takes precedence over all other rules."
        ) { text, settings throws(Disallowed) in settings.denyNetworks = try networks(text) },
        Option(
            "allow-hosts", "LIST", "none",
            "Hosts that callbacks may reach even if their addresses are private: hooks.internal, *.corp.example, ..."
        ) { text, settings throws(Disallowed) in settings.allowHosts = try hosts(text) },
        Option(
            "deny-hosts", "LIST", "none",
            "Hosts that callback URLs must not name. Takes precedence over all other rules."
        ) { text, settings throws(Disallowed) in settings.denyHosts = try hosts(text) },
        Option(
            "callback-proxy", "URL", "none: callbacks connect directly",
            "Callbacks connect through this proxy: http://proxy.example:3128 or socks5h://proxy.example:1080. Set a proxy with a password in the environment or a file."
        ) { text, settings throws(Disallowed) in
            guard let proxy = CallbackProxy(text) else { throw Disallowed(allowed: CallbackProxy.form) }
            settings.callbackProxy = proxy
        },
        Option(
            "callback-proxy-overrides", "LIST", "none",
            "Hosts and delegates whose callbacks use another proxy, or none: hooks.internal=direct, dlg_...=http://other.example:3128, ..."
        ) { text, settings throws(Disallowed) in
            settings.callbackProxyOverrides = try list(text).map { entry throws(Disallowed) in
                try valid(ProxyRules.Override(entry), ProxyRules.Override.form)
            }
        },
        Option(
            "allowed-hosts", "LIST",
            "localhost,127.0.0.1,[::1], those of --listen and --public-url; any when not on loopback",
            "Names that the Host of a request may have. Others get 421."
        ) { text, settings throws(Disallowed) in
            let hosts = list(text)
            guard !hosts.isEmpty, hosts.allSatisfy(isHost) else {
                throw Disallowed(allowed: "host names or addresses without port and without *, separated by commas")
            }
            settings.allowedHosts = hosts
        },
        Option(
            "cors-origins", "LIST", "none",
            "Origins of other sites whose pages may use the API: https://shop.example, http://localhost:3000, ..."
        ) { text, settings throws(Disallowed) in
            let origins = list(text)
            if let wrong = origins.first(where: { !OriginRules.isOrigin($0) }) {
                throw Disallowed(
                    allowed: "origins as browsers write them, separated by commas, such as https://shop.example or "
                        + "http://localhost:3000: no path, no *, no standard port (\"\(wrong)\" is none)")
            }
            settings.corsOrigins = origins
        },
        Option(
            "public-url", "URL", "none: links are paths",
            "The URL at which clients reach the server through a proxy, such as https://example.com/herald. Links begin with it, and cookies are valid below its path. The proxy removes the path from requests."
        ) { text, settings throws(Disallowed) in settings.publicURL = try publicURL(text) },
        Option(
            "allow-anonymous", "true|false", String(standard.allowAnonymous),
            "Create no admin key at the start on an address that is not loopback. Until a key exists, every client may do everything."
        ) { text, settings throws(Disallowed) in settings.allowAnonymous = try flag(text) },
        Option(
            "svix-api", "true|false", String(standard.servesSvix),
            "Serve the operations of Svix's server below /api/v1, so that programs with an SDK of Svix use Herald. A key of Herald is the token."
        ) { text, settings throws(Disallowed) in settings.servesSvix = try flag(text) },
        Option(
            "admin-key", "KEY", "none",
            "An access key with the scope admin, in addition to those that the server makes: 20 to 255 visible ASCII characters.",
            isSecret: true
        ) { text, settings throws(Disallowed) in
            guard KeyFile.isKey(text) else { throw Disallowed(allowed: "20 to 255 visible ASCII characters") }
            settings.adminKey = text
        },
        Option(
            "admin-key-file", "FILE", "the credential herald.admin-key of systemd, or none",
            "A file whose only line is the admin key, readable by Herald only."
        ) { text, settings throws(Disallowed) in
            try checkSecrecy(of: text)
            let key = try valid(
                try? KeyFile.read(text), "a file with one line, an access key of 20 to 255 visible ASCII characters")
            settings.adminKey = key
        },
        Option(
            "requests-per-second", "NUMBER", "unlimited",
            "Requests per second for each access key that has no limit of its own, 1 to 1000000, or unlimited."
        ) { text, settings throws(Disallowed) in
            let number = Int(text)
            guard text == "unlimited" || (1...1_000_000).contains(number ?? 0) else {
                throw Disallowed(allowed: "a number from 1 to 1000000, or unlimited")
            }
            settings.requestsPerSecond = number
        },
        Option(
            "connections-per-address", "NUMBER", "200; unlimited on loopback",
            "Connections of one address, 8 to 10000 or unlimited, without live streams. With --trusted-proxies the default is 200 on loopback, too."
        ) { text, settings throws(Disallowed) in
            let number = text == "unlimited" ? 0 : Int(text)
            guard let number, number == 0 ? text == "unlimited" : (8...10_000).contains(number) else {
                throw Disallowed(allowed: "a number from 8 to 10000, or unlimited")
            }
            settings.connectionsPerAddress = number
        },
        Option(
            "trusted-proxies", "LIST", "none",
            "Proxies whose Forwarded or X-Forwarded-For names the client, for limits and logs: 10.0.0.5, 10.1.0.0/16, ..."
        ) { text, settings throws(Disallowed) in settings.trustedProxies = try proxyNetworks(text) },
        Option(
            "proxy-protocol", "true|false", String(standard.proxyProtocol),
            "The trusted proxies begin each connection with the header of the PROXY protocol, version 1 or 2."
        ) { text, settings throws(Disallowed) in settings.proxyProtocol = try flag(text) },
        Option(
            "threads", "NUMBER", "the cores of the container or machine",
            "Cores to use, 1 to 64. There are two fewer delivery threads, and at least one."
        ) { text, settings throws(Disallowed) in settings.threads = try number(text, 1...64) },
        Option(
            "memory", "SIZE", "the limit of the control group, else 3/4 of the machine's",
            "Memory to use: 64MiB, 2GiB, ..., at least 48MiB. Caches, queues, connections and callbacks share it."
        ) { text, settings throws(Disallowed) in
            guard let bytes = bytes(text), bytes >= MemoryPlan.minimum else {
                throw Disallowed(allowed: "at least 48MiB, in MiB, GiB or TiB, such as 64MiB or 2GiB")
            }
            settings.memory = Int(bytes)
        },
        Option("max-body", "BYTES", String(standard.maxBody), "The largest request body, 1024 to 16777216 bytes.") {
            text, settings throws(Disallowed) in settings.maxBody = try number(text, PublicationLimits.byteRange)
        },
        Option(
            "grace", "SECONDS", String(standard.graceSeconds),
            "Seconds for open callbacks to end after TERM or INT, 0 to 600."
        ) { text, settings throws(Disallowed) in settings.graceSeconds = try number(text, 0...600) },
        Option(
            "retention", "DURATION", describe(duration: standard.retention.events),
            "How long events are kept: 30m, 36h, 7d, ..., at least 1m, or forever."
        ) { text, settings throws(Disallowed) in settings.retention.events = try duration(text) },
        Option(
            "retention-attempts", "DURATION", describe(duration: standard.retention.attempts),
            "How long attempts are kept."
        ) { text, settings throws(Disallowed) in settings.retention.attempts = try duration(text) },
        Option(
            "retention-size", "SIZE", describe(size: standard.retention.bytes),
            "Disk space of events above which the oldest delivered ones are removed: 512MiB, 10GiB, ..., at least 16MiB, or unlimited."
        ) { text, settings throws(Disallowed) in settings.retention.bytes = try size(text) },
        Option(
            "retention-attempts-size", "SIZE", describe(size: standard.retention.attemptBytes),
            "Disk space of attempts above which the oldest are removed."
        ) { text, settings throws(Disallowed) in settings.retention.attemptBytes = try size(text) },
        Option(
            "backup-folder", "FOLDER", "none: no backups",
            "The folder of scheduled backups, which must exist. Choose one on another disk."
        ) { text, settings throws(Disallowed) in settings.backups.folder = try writable(text) },
        Option(
            "backup-every", "DURATION", describe(duration: standard.backups.every),
            "The time between two backups: 30m, 12h, 1d, ..., at least 1m."
        ) { text, settings throws(Disallowed) in
            settings.backups.every = try valid(
                try? duration(text), "at least 1m, a number with m, h or d, such as 12h or 1d")
        },
        Option(
            "backup-keep", "NUMBER", String(standard.backups.keep),
            "How many backups are kept, 1 to 1000; the oldest are removed."
        ) { text, settings throws(Disallowed) in settings.backups.keep = try number(text, 1...1000) },
        Option("source", "URI", standard.source, "The CloudEvents source of events that have none.") {
            text, settings throws(Disallowed) in
            settings.source = try valid(
                CurlSender.Configuration.isSource(text) ? text : nil,
                "a URI of 1 to 256 printable characters, such as https://shop.example/")
        },
        Option(
            "origin", "HOST", standard.origin,
            "The name that receivers allow in a CloudEvents handshake (WebHook-Request-Origin)."
        ) { text, settings throws(Disallowed) in
            guard (1...253).contains(text.utf8.count),
                text.utf8.allSatisfy({ byte in
                    byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                        || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                })
            else { throw Disallowed(allowed: "a host name, such as events.shop.example") }
            settings.origin = text
        },
        Option(
            "tls-certificate", "FILE", "none: plain HTTP",
            "Serve https with this certificate chain (PEM). Read again after HUP."
        ) { text, settings throws(Disallowed) in settings.tlsCertificate = try file(text) },
        Option(
            "tls-key", "FILE", "none",
            "The private key (PEM) of the certificate, readable by Herald only. Read again after HUP."
        ) { text, settings throws(Disallowed) in settings.tlsKey = try file(text) },
        Option(
            "certificate-authorities", "FILE", "the system's",
            "Certificate authorities (PEM) for https receivers, instead of those of the system."
        ) { text, settings throws(Disallowed) in settings.certificateAuthorities = try readable(text) },
        Option(
            "master-key", "KEY", "none: secrets are stored in plain text",
            "Encrypts secrets, extra headers, URLs and remembered responses in the database: 32 bytes in base64.",
            isSecret: true
        ) { text, settings throws(Disallowed) in settings.masterKey = try key(text) },
        Option(
            "master-key-file", "FILE", "the credential herald.master-key of systemd, or none",
            "A file whose only line is the master key, readable by Herald only."
        ) { text, settings throws(Disallowed) in
            try checkSecrecy(of: text)
            guard let masterKey = KeyFile.masterKey(text) else { throw Disallowed(allowed: KeyFile.masterKeyWords) }
            settings.masterKey = masterKey
        },
        Option(
            "log-format", "human|json", "human on a terminal, else json",
            "The format of log lines. They are written to standard error."
        ) { text, settings throws(Disallowed) in
            settings.logFormat = try valid(Log.Format(rawValue: text), "human or json")
        },
        Option(
            "log-level", "LEVEL", standard.logLevel.name,
            "The lowest level that is logged: debug, info, warning or error."
        ) { text, settings throws(Disallowed) in
            settings.logLevel = try valid(Log.Level.named(text), "debug, info, warning or error")
        },
    ]

    /// The settings whose URLs may have a user and a password.
    static let withUsers = [
        "callback-proxy", "callback-proxy-overrides", "otel-exporter-otlp-endpoint",
        "otel-exporter-otlp-traces-endpoint",
    ]

    func hides(_ text: String) -> Bool {
        isSecret || Self.holdsPassword(text) || Self.withUsers.contains(name) && text.contains("@")
            || name == "store" && Self.mayHoldPassword(text)
    }

    /// Whether there may be a password before the last `@`: also in what is no valid URL, without its scheme or with a password that
    /// is not percent-encoded.
    private static func mayHoldPassword(_ address: String) -> Bool {
        guard let end = address.lastIndex(of: "@") else { return false }
        guard let scheme = address[..<end].place(of: "://"), scheme.lowerBound > address.startIndex else { return true }
        return address[scheme.upperBound..<end].contains(":")
    }

    /// - Throws: if an address has a password, which the list of processes would show.
    static func refusePassword(in addresses: [String]) throws(CommandError) {
        guard addresses.contains(where: holdsPassword) else { return }
        throw CommandError(
            "The password in the address would be visible in the list of processes; "
                + "put it into a password file (PGPASSFILE), or set PGPASSWORD.")
    }

    /// - Parameter url: a URL, or the `name=value` pairs of libpq.
    static func holdsPassword(_ url: String) -> Bool {
        let rest = url.drop { $0 != "/" }.drop { $0 == "/" }
        let user = rest.prefix { $0 != "/" && $0 != "?" }
        return user.lastIndex(of: "@").map { user[..<$0].contains(":") } ?? false
            || url.filter { $0 != " " }.holds("password=")
    }
}
