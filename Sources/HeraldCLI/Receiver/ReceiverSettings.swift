import HeraldCrypto
import HeraldReceiver

struct ReceiverSettings {
    static let flags = [
        Command.Flag("port", "PORT", "The port to listen on; 0: any free port. Default: 9000."),
        Command.Flag("address", "ADDRESS", "The IPv4 address to listen on. Default: 127.0.0.1."),
        Command.Flag(
            "secret", "KEY",
            "Verifies each signature with this secret or public key, and responds with 401 if it is invalid. May be given again."
        ),
        Command.Flag(
            "scheme", "NAME",
            "The signature scheme: github, stripe, slack, svix, ... An unknown name lists all. Default: standard."),
        Command.Flag(
            "url", "URL", "The URL that senders have, for square and twilio. Default: that of the request."),
        Command.Flag(
            "reply", "QUERY",
            "The response where the URL has no directives, written as a query: 'status=503&delay=2'."),
        Command.Flag("script", "FILE", "A script in JSON: the responses for each path."),
        Command.Flag(
            "tls", nil,
            "Speaks TLS, with a certificate that it makes at the start; prints the file of the authority that signed it."
        ),
        Command.Flag(
            "names", "LIST", "Names and addresses of the certificate. Default: localhost,127.0.0.1,::1."),
        Command.Flag(
            "connections", "serve|ignore|close|reset",
            "How to treat new connections; ignore: accept them and never read. Default: serve."),
        Command.Flag("brief", nil, "Prints one line for each request, without its headers."),
        Command.Flag("quiet", nil, "Prints nothing about requests."),
        Command.Flag(
            "control", "PORT", "Accepts control requests on this port of the same address; 0: any free port."),
        Command.Flag("seed", "NUMBER", "The seed of all random decisions. Default: 0."),
    ]

    let address: String
    let port: UInt16
    let keys: [String]
    /// `nil` for Standard Webhooks.
    let scheme: Scheme?
    /// The URL that senders have; `nil` if it is that of the request.
    let url: String?
    let scriptFile: String?
    /// The default reply, in the form of a query.
    let reply: String?
    let usesTLS: Bool
    let names: [String]
    let welcome: Receiver.Welcome
    let printing: ReceiverPrinter.Amount
    /// `nil` for no control requests.
    let controlPort: UInt16?
    let seed: UInt64

    init(_ call: Invocation) throws(CommandError) {
        func value<Value>(
            _ flag: String, or standard: Value, _ allowed: String, _ read: (String) -> Value?
        ) throws(CommandError) -> Value {
            guard let text = call[flag] else { return standard }
            if let value = read(text) { return value }
            throw CommandError("--\(flag) is \"\(text)\", but must be \(allowed).")
        }
        address = call["address"] ?? "127.0.0.1"
        port = try call.number("port", 0...65_535).map { UInt16($0) } ?? 9000
        keys = call.flags["secret"] ?? []
        scheme = try call["scheme"].map(Scheme.named)
        url = call["url"]
        scriptFile = call["script"]
        reply = call["reply"]
        usesTLS = call.has("tls")
        names = try value(
            "names", or: ["localhost", "127.0.0.1", "::1"], "host names and addresses, separated by commas",
            Self.hostNames)
        welcome = try value(
            "connections", or: .serve, "serve, ignore, close or reset", Receiver.Welcome.init(rawValue:))
        if call.has("quiet"), call.has("brief") { throw CommandError("--quiet and --brief can't be combined.") }
        printing = call.has("quiet") ? .nothing : call.has("brief") ? .brief : .full
        controlPort = try call.number("control", 0...65_535).map { UInt16($0) }
        seed = try value("seed", or: 0, "a number from 0 on") { UInt64($0) }
    }

    /// `nil` if one of them is invalid, or there is none.
    private static func hostNames(_ list: String) -> [String]? {
        let names = list.split(separator: ",").map(String.init)
        let areValid = names.allSatisfy { $0.allSatisfy { $0.isLetter || $0.isNumber || ".-:*".contains($0) } }
        return areValid && !names.isEmpty ? names : nil
    }
}
