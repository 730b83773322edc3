import HeraldCrypto
import HeraldReceiver

/// The settings of `herald receiver`.
struct ReceiverSettings {
    var address = "127.0.0.1"
    var port: UInt16 = 9000
    var keys: [String] = []
    /// `nil` for Standard Webhooks.
    var scheme: Scheme?
    /// The URL that senders have; `nil` if it is that of the request.
    var url: String?
    var scriptFile: String?
    /// The default reply, in the form of a query.
    var reply: String?
    var usesTLS = false
    var names = ["localhost", "127.0.0.1", "::1"]
    var welcome = Receiver.Welcome.serve
    var printing = ReceiverPrinter.Amount.full
    /// `nil` for no control requests.
    var controlPort: UInt16?
    var seed: UInt64 = 0

    init(_ arguments: [String]) throws(CommandError) {
        let command = "herald receiver"
        var reader = ArgumentReader(arguments[...])
        while let word = try reader.next(of: ReceiverFlag.all, command: command) {
            switch word {
            case .argument(let text):
                throw CommandError(description: "\(text) is not a flag. `\(command) --help` lists all.")
            case .flag(let flag, let value):
                guard let allowed = flag.set(value, &self) else { continue }
                throw CommandError(description: "--\(flag.name) is \"\(value)\", but must be \(allowed).")
            }
        }
    }
}

/// One flag of `herald receiver`.
struct ReceiverFlag: CommandLineFlag, Sendable {
    let name: String
    /// The value's placeholder in the help; `nil` if it takes none.
    let placeholder: String?
    let help: String
    /// Sets the value, or returns a description of the valid values.
    let set: @Sendable (String, inout ReceiverSettings) -> String?

    var takesValue: Bool { placeholder != nil }
    var usage: String { "--\(name)" + (placeholder.map { " \($0)" } ?? "") }

    /// All flags. The help is made from this list.
    static let all: [ReceiverFlag] = [
        ReceiverFlag(name: "port", placeholder: "PORT", help: "The port to listen on; 0: any free port. Default: 9000.")
        {
            guard let port = UInt16($0) else { return "a number from 0 to 65535" }
            $1.port = port
            return nil
        },
        ReceiverFlag(
            name: "address", placeholder: "ADDRESS", help: "The IPv4 address to listen on. Default: 127.0.0.1."
        ) {
            $1.address = $0
            return nil
        },
        ReceiverFlag(
            name: "secret", placeholder: "KEY",
            help:
                "Verifies each signature with this secret or public key, and responds with 401 if it is invalid. May be given again."
        ) {
            $1.keys.append($0)
            return nil
        },
        ReceiverFlag(
            name: "scheme", placeholder: "NAME",
            help:
                "Whose signatures they are: github, stripe, slack, svix, ... Another word lists all. Default: standard."
        ) {
            guard let scheme = Scheme.preset($0) else {
                return "one of: " + Scheme.presets.map(\.name).joined(separator: ", ")
            }
            $1.scheme = scheme
            return nil
        },
        ReceiverFlag(
            name: "url", placeholder: "URL",
            help: "The URL that senders have, for square and twilio. Default: that of the request."
        ) {
            $1.url = $0
            return nil
        },
        ReceiverFlag(
            name: "reply", placeholder: "QUERY",
            help: "The response where the URL has no directives, written as a query: 'status=503&delay=2'."
        ) {
            $1.reply = $0
            return nil
        },
        ReceiverFlag(name: "script", placeholder: "FILE", help: "A script in JSON: the responses for each path.") {
            $1.scriptFile = $0
            return nil
        },
        ReceiverFlag(
            name: "tls", placeholder: nil,
            help:
                "Speaks TLS, with a certificate that it makes at the start; prints the file of the authority that signed it."
        ) {
            $1.usesTLS = true
            return nil
        },
        ReceiverFlag(
            name: "names", placeholder: "LIST",
            help: "Names and addresses of the certificate. Default: localhost,127.0.0.1,::1."
        ) {
            let names = $0.split(separator: ",").map(String.init)
            guard !names.isEmpty,
                names.allSatisfy({ $0.allSatisfy { $0.isLetter || $0.isNumber || ".-:*".contains($0) } })
            else { return "host names and addresses, separated by commas" }
            $1.names = names
            return nil
        },
        ReceiverFlag(
            name: "connections", placeholder: "serve|ignore|close|reset",
            help: "How to treat new connections; ignore: accept them and never read. Default: serve."
        ) {
            let welcomes: [String: Receiver.Welcome] = [
                "serve": .serve, "ignore": .ignore, "close": .close, "reset": .reset,
            ]
            guard let welcome = welcomes[$0] else { return "serve, ignore, close or reset" }
            $1.welcome = welcome
            return nil
        },
        ReceiverFlag(name: "brief", placeholder: nil, help: "Prints one line for each request, without its headers.") {
            $1.printing = .brief
            return nil
        },
        ReceiverFlag(name: "quiet", placeholder: nil, help: "Prints nothing about requests.") {
            $1.printing = .nothing
            return nil
        },
        ReceiverFlag(
            name: "control", placeholder: "PORT",
            help: "Accepts control requests on this port of the same address; 0: any free port."
        ) {
            guard let port = UInt16($0) else { return "a number from 0 to 65535" }
            $1.controlPort = port
            return nil
        },
        ReceiverFlag(name: "seed", placeholder: "NUMBER", help: "The seed of all random decisions. Default: 0.") {
            guard let seed = UInt64($0) else { return "a number from 0 on" }
            $1.seed = seed
            return nil
        },
    ]
}
