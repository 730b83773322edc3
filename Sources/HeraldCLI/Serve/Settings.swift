import Glibc
import HeraldAPI
import HeraldCrypto
import HeraldModel
import HeraldRuntime
import HeraldWebhooks

/// The configuration of `herald serve`: flags, then the environment, then a file, then credentials, then defaults.
struct Settings {
    enum Source: Equatable {
        case flag, environment
        case file(line: Int)
        case credential
    }

    /// The settings that were given, as text, by the names of their options.
    private(set) var given: [String: (text: String, source: Source)] = [:]
    private(set) var file: String?
    private var read: (arguments: [String], environment: [String: String], credentials: String?) = ([], [:], nil)
    var listen = Endpoint(host: "127.0.0.1", port: 8080)
    var data = "./herald-data"
    /// The address of a database on a server; `nil` for the one in the data folder.
    var store: String?
    var allowNetworks: [NetworkRule] = []
    var denyNetworks: [NetworkRule] = []
    var allowHosts: [HostRule] = []
    var denyHosts: [HostRule] = []
    /// `nil` for the defaults of the address.
    var allowedHosts: [String]?
    var callbackProxy: CallbackProxy?
    var callbackProxyOverrides: [ProxyRules.Override] = []
    var corsOrigins: [String] = []
    var publicURL: PublicURL?
    var servesSvix = false
    var allowAnonymous = false
    var adminKey: String?
    /// `nil` for no limit.
    var requestsPerSecond: Int?
    /// 0 for no limit; `nil` for the default of the address.
    var connectionsPerAddress: Int?
    var trustedProxies: [NetworkRule] = []
    var proxyProtocol = false
    var threads = min(64, CoreLimit.found())
    /// Bytes; `nil` for what the system grants.
    var memory: Int?
    var maxBody = PublicationLimits.defaultBytes
    var graceSeconds = 30
    var retention = Retention()
    var backups = BackupSchedule.Plan()
    var source = CurlSender.Configuration.defaultSource
    var origin = CurlSender.Configuration.defaultOrigin
    var traces = TraceSettings()
    var certificateAuthorities: String?
    var tlsCertificate: String?
    var tlsKey: String?
    var masterKey: MasterKey?
    var logFormat: Log.Format = isatty(2) == 1 ? .human : .json
    var logLevel = Log.Level.info
    /// Variables that begin with `HERALD_` and are no settings: misspelled, or made by another program. Kubernetes makes some
    /// for a service called `herald`.
    private(set) var unknownVariables: [String] = []
    /// The errors, if they are collected: `herald doctor` shows all of them.
    private(set) var mistakes: [SettingsError] = []
    private var collectsMistakes = false

    init() {
        retention.bytes = 10 << 30
        retention.attemptBytes = 2 << 30
    }

    /// - Parameters:
    ///   - environment: the variables that begin with `HERALD_` or `OTEL_`.
    ///   - credentials: the folder of the credentials that systemd provides; `nil` if there is none.
    ///   - collectsMistakes: whether an error is added to `mistakes` and its setting ignored, instead of being thrown.
    /// - Throws: the first error, with the setting, the value and the valid values.
    init(
        arguments: [String], environment: [String: String], credentials: String? = nil, collectsMistakes: Bool = false
    ) throws(SettingsError) {
        self.init()
        self.collectsMistakes = collectsMistakes
        read = (arguments, environment, credentials)
        let options = Option.all
        var reader = ArgumentReader(arguments[...])
        var flags: [(option: Option, text: String)] = []
        while let word = try Self.next(&reader) {
            switch word {
            case .argument(let text):
                throw .arguments("\(text) is not a flag: flags begin with --. `herald serve --help` lists all.")
            case .flag(let flag, let text):
                for option in options where option.name == flag.name { flags.append((option, text)) }
            }
        }
        file = flags.last { $0.option.name == Option.config }?.text ?? environment[Option.variable(Option.config)]
        if let file { try collect { settings throws(SettingsError) in try settings.readFile(file) } }
        for (variable, text) in environment.sorted(by: { $0.key < $1.key }) {
            guard let option = options.first(where: { $0.variable == variable }) else {
                let isOurs = variable.hasPrefix("HERALD_") && !Self.variablesOfOtherCommands.contains(variable)
                if isOurs { unknownVariables.append(variable) }
                continue
            }
            if option.countsAsUnset(text) { continue }
            try set(option, text, .environment, named: variable)
        }
        for (option, text) in flags { try set(option, text, .flag, named: "--\(option.name)") }
        if let credentials { try readCredentials(in: credentials) }
        let names = Set(flags.map(\.option.name))
        try collect { settings throws(SettingsError) in try settings.checkPairs() }
        try collect { settings throws(SettingsError) in try settings.checkStore(names) }
        try collect { settings throws(SettingsError) in try settings.checkUsers(names) }
        try collect { settings throws(SettingsError) in
            guard settings.proxyProtocol, settings.trustedProxies.isEmpty else { return }
            throw SettingsError(
                "--proxy-protocol is for trusted proxies, and there are none: name them in --trusted-proxies.",
                advice: "set --trusted-proxies, or remove --proxy-protocol")
        }
        try collect { settings throws(SettingsError) in
            guard (settings.tlsCertificate == nil) != (settings.tlsKey == nil) else { return }
            let missing = settings.tlsKey == nil ? "--tls-key" : "--tls-certificate"
            throw SettingsError(
                "--tls-certificate and --tls-key belong together: \(missing) FILE is missing.",
                advice: "set \(missing) FILE, too")
        }
    }

    /// Whether a server with these settings requires a key, even if none exists: other machines can reach it.
    var needsKey: Bool { !listen.isLoopback && !allowAnonymous }

    private mutating func collect(_ body: (inout Settings) throws(SettingsError) -> Void) throws(SettingsError) {
        do throws(SettingsError) {
            try body(&self)
        } catch {
            guard collectsMistakes else { throw error }
            mistakes.append(error)
        }
    }

    /// The settings as a start would have them now: the file may have changed.
    func readAgain() throws(SettingsError) -> Settings {
        try Settings(arguments: read.arguments, environment: read.environment, credentials: read.credentials)
    }

    /// An unknown name is a mistake here: unlike the environment, the file is Herald's alone.
    private mutating func readFile(_ path: String) throws(SettingsError) {
        let file: SettingsFile
        do throws(CommandError) {
            file = try SettingsFile(path)
        } catch {
            throw .file(error.description)
        }
        for entry in file.entries {
            let place = "\(entry.variable) in line \(entry.line) of \(file.path)"
            guard let option = Option.all.first(where: { $0.variable == entry.variable }), option.name != Option.config
            else {
                if Self.variablesOfOtherCommands.contains(entry.variable) { continue }
                let nearest = Suggestion.nearest(entry.variable, Option.all.map(\.variable))
                try collect { _ throws(SettingsError) in
                    throw SettingsError(
                        "\(place) is not a setting" + (nearest.map { "; did you mean \($0)?" } ?? ".")
                            + " `herald serve --help` lists all.",
                        advice: nearest.map { "write \($0)" } ?? "remove it")
                }
                continue
            }
            if option.countsAsUnset(entry.value) { continue }
            if option.hides(entry.value), let problem = SecretFile.problem(file.path) {
                let text = "\(file.path) has a secret, \(entry.variable), and \(problem)"
                try collect { _ throws(SettingsError) in throw .file(text) }
                continue
            }
            try set(option, entry.value, .file(line: entry.line), named: place)
        }
    }

    /// Reads the keys that are credentials, unless a flag or a variable has set them.
    private mutating func readCredentials(in folder: String) throws(SettingsError) {
        for (name, isSet) in [("admin-key", adminKey != nil), ("master-key", masterKey != nil)] where !isSet {
            let credential = "herald.\(name)"
            let path = "\(folder)/\(credential)"
            guard access(path, F_OK) == 0, let option = Option.all.first(where: { $0.name == name + "-file" }) else {
                continue
            }
            try set(option, path, .credential, named: "The credential \(credential)")
        }
    }

    /// Refuses a key together with a file that has a key: the server would use only one of them.
    private func checkPairs() throws(SettingsError) {
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            let file = name + "-file"
            guard let other = given[file] else { continue }
            let areInFile = if case (.file, .file) = (value.source, other.source) { true } else { false }
            guard areInFile || value.source == other.source else { continue }
            let (one, two) = (Option.variable(name), Option.variable(file))
            throw SettingsError(
                "\(one) and \(two) exclude each other: give the key, or the file that has it.",
                advice: "remove \(one) or \(two)")
        }
    }

    /// Refuses settings of a data folder beside `--store`. `HERALD_DATA` is allowed, because the container image sets it.
    private func checkStore(_ flags: Set<String>) throws(SettingsError) {
        guard let store else { return }
        if flags.contains("data") {
            throw SettingsError(
                "--data and --store exclude each other: the events are in a folder, or in a database on a server.",
                advice: "remove --data or --store")
        }
        if backups.folder != nil {
            throw SettingsError(
                "--backup-folder copies a data folder, and --store has none: use the backups of PostgreSQL, such as pg_basebackup.",
                advice: "remove --backup-folder")
        }
        if flags.contains("store"), Option.holdsPassword(store) { throw .secret("store") }
    }

    private func checkUsers(_ flags: Set<String>) throws(SettingsError) {
        for name in Option.withUsers where flags.contains(name) && given[name].map({ $0.text.contains("@") }) == true {
            throw .secret(name)
        }
    }

    private static func next(_ reader: inout ArgumentReader) throws(SettingsError) -> ArgumentReader.Word? {
        do throws(CommandError) {
            return try reader.next(of: Option.all.map(\.commandFlag), command: "herald serve")
        } catch {
            throw .arguments(error.description)
        }
    }

    private static let variablesOfOtherCommands =
        Set(Flags.variables.map(\.0)).union(["HERALD_NEW_MASTER_KEY", "HERALD_NEW_MASTER_KEY_FILE"])

    /// Connections of one address; 0 for no limit. All clients on one machine, or behind a proxy that is not trusted, have
    /// the same address.
    var addressLimit: Int {
        connectionsPerAddress ?? (listen.isLoopback && trustedProxies.isEmpty ? 0 : 200)
    }

    /// Whether a connection from this address begins with the header of the PROXY protocol. A connection to an address of
    /// this machine comes from the same address.
    func expectsHeader(from host: String) -> Bool {
        guard proxyProtocol, let address = IPAddress(host == "localhost" ? "127.0.0.1" : host) else { return false }
        return trustedProxies.contains { $0.contains(address) }
    }

    /// Names that the `Host` of a request may have; empty for any.
    var servedHosts: [String] {
        if let allowedHosts { return allowedHosts }
        guard listen.isLoopback else { return [] }
        return ["localhost", "127.0.0.1", "[::1]", listen.host] + (publicURL.map { [$0.host] } ?? [])
    }

    var deliveryLoops: Int { max(1, threads - 2) }

    /// `nil` for plain HTTP.
    var tls: TLSFiles? {
        tlsCertificate.flatMap { certificate in tlsKey.map { TLSFiles(certificate: certificate, key: $0) } }
    }

    private mutating func set(
        _ option: Option, _ text: String, _ source: Source, named name: String
    ) throws(SettingsError) {
        given[option.name] = (text, source)
        try collect { settings throws(SettingsError) in
            do throws(Option.Disallowed) {
                try option.set(text, &settings)
            } catch {
                throw SettingsError(
                    "\(name) is \"\(option.hides(text) ? "***" : text)\", but must be \(error.allowed).",
                    advice: SecretFile.command(in: error.allowed) ?? "set it to \(error.allowed)")
            }
        }
    }
}

/// Says what is wrong, and mostly also what is right.
struct SettingsError: Error, CustomStringConvertible {
    let description: String
    /// For `herald doctor`.
    let advice: String

    init(_ description: String, advice: String) {
        self.description = description
        self.advice = advice
    }

    static func file(_ text: String) -> SettingsError {
        SettingsError(text, advice: SecretFile.command(in: text) ?? "repair the file")
    }

    static func arguments(_ text: String) -> SettingsError {
        SettingsError(text, advice: "`herald serve --help` lists the settings")
    }

    static func secret(_ name: String) -> SettingsError {
        let variable = Option.variable(name)
        return SettingsError(
            "--\(name) would show the secret to everyone who lists the processes; set \(variable) instead.",
            advice: "set \(variable) instead")
    }
}

struct Endpoint: Equatable {
    /// Without brackets.
    let host: String
    let port: UInt16
}

extension Endpoint: CustomStringConvertible {
    /// `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    var description: String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    var isLoopback: Bool {
        let address = IPAddress(host)?.description
        return host == "localhost" || address?.hasPrefix("127.") == true || address == "::1"
    }
}
