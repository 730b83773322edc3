import Webhooks

/// One setting: a flag of `herald serve`, and a variable of the environment. The flag wins.
struct Option: Sendable {
    /// Without dashes: `allow-networks`; the variable is `HERALD_ALLOW_NETWORKS`.
    let name: String
    /// What stands for the value in the help.
    let placeholder: String
    let defaultText: String
    let help: String
    /// Sets the value, or throws what is allowed instead.
    let set: @Sendable (String, inout Settings) throws(Disallowed) -> Void

    struct Disallowed: Error {
        let allowed: String
    }

    var variable: String {
        "HERALD_" + name.uppercased().map { $0 == "-" ? "_" : $0 }.reduce(into: "") { $0.append($1) }
    }
}

extension Option {
    /// Everything that can be configured. The help and the table of the README are made from this list.
    static let all: [Option] = [
        Option(
            name: "listen", placeholder: "HOST:PORT", defaultText: "127.0.0.1:8080",
            help: "Where to listen. Port 0 lets the system choose; the first line of the log says which."
        ) { text, settings throws(Disallowed) in
            guard let endpoint = Endpoint(text) else {
                throw Disallowed(allowed: "an address and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80")
            }
            settings.listen = endpoint
        },
        Option(
            name: "data", placeholder: "FOLDER", defaultText: "./herald-data",
            help: "Where the database lies. Made when it is missing; one process uses it at a time."
        ) { text, settings throws(Disallowed) in
            guard !text.isEmpty else { throw Disallowed(allowed: "the path of a folder") }
            settings.data = text
        },
        Option(
            name: "allow-networks", placeholder: "LIST", defaultText: "none",
            help: "Networks that callbacks may reach although they are private: 10.1.0.0/16, 192.168.1.5:8080, ..."
        ) { text, settings throws(Disallowed) in settings.allowNetworks = try networks(text) },
        Option(
            name: "deny-networks", placeholder: "LIST", defaultText: "none",
            help: "Networks that callbacks must not reach, whatever else holds."
        ) { text, settings throws(Disallowed) in settings.denyNetworks = try networks(text) },
        Option(
            name: "allowed-hosts", placeholder: "LIST",
            defaultText: "localhost,127.0.0.1,[::1]; any when not on loopback",
            help: "Names that a request's Host may carry; others are answered 421."
        ) { text, settings throws(Disallowed) in
            let hosts = list(text)
            guard !hosts.isEmpty, hosts.allSatisfy({ !$0.contains("/") && !$0.contains(" ") }) else {
                throw Disallowed(allowed: "host names without port, separated by commas")
            }
            settings.allowedHosts = hosts
        },
        Option(
            name: "allow-anonymous", placeholder: "true|false", defaultText: "false",
            help: "Listen on an address that is not loopback although anyone who reaches it can do everything."
        ) { text, settings throws(Disallowed) in
            guard let flag = ["true": true, "false": false][text] else { throw Disallowed(allowed: "true or false") }
            settings.allowAnonymous = flag
        },
        Option(
            name: "threads", placeholder: "NUMBER", defaultText: "the number of cores",
            help: "Cores to use, 1 to 64: threads that deliver are two fewer, one at least."
        ) { text, settings throws(Disallowed) in settings.threads = try number(text, 1...64) },
        Option(
            name: "max-body", placeholder: "BYTES", defaultText: "262144",
            help: "The largest request body, 1024 to 16777216."
        ) { text, settings throws(Disallowed) in settings.maxBody = try number(text, 1024...16_777_216) },
        Option(
            name: "grace", placeholder: "SECONDS", defaultText: "30",
            help: "How long callbacks in flight may take to end after TERM or INT, 0 to 600."
        ) { text, settings throws(Disallowed) in settings.graceSeconds = try number(text, 0...600) },
        Option(
            name: "log-format", placeholder: "human|json", defaultText: "human on a terminal, else json",
            help: "How log lines look. They go to the standard error."
        ) { text, settings throws(Disallowed) in
            guard let format = Log.Format(rawValue: text) else { throw Disallowed(allowed: "human or json") }
            settings.logFormat = format
        },
        Option(
            name: "log-level", placeholder: "LEVEL", defaultText: "info",
            help: "The least level that is logged: debug, info, warning or error."
        ) { text, settings throws(Disallowed) in
            guard let level = Log.Level(text) else { throw Disallowed(allowed: "debug, info, warning or error") }
            settings.logLevel = level
        },
    ]

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
            .filter { !$0.isEmpty }
    }

    private static func networks(_ text: String) throws(Disallowed) -> [NetworkRule] {
        var rules: [NetworkRule] = []
        for entry in list(text) {
            do throws(NetworkRuleError) {
                rules.append(try NetworkRule(parsing: entry))
            } catch {
                throw Disallowed(allowed: "networks separated by commas (\(error))")
            }
        }
        return rules
    }

    private static func number(_ text: String, _ range: ClosedRange<Int>) throws(Disallowed) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Disallowed(allowed: "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
