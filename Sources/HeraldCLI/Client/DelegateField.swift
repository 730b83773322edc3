import HeraldJSON
import HeraldModel
import HeraldRuntime

/// A setting of a webhook as a flag, and its conversion to a member of the request's body.
struct DelegateField: Sendable {
    enum Use: Sendable { case registration, change }

    private enum Form: Sendable {
        case text
        /// An event, or another word.
        case position
        case number
        case json
        /// `true` if the flag is present.
        case yes
        /// Comma-separated items; the flag may be repeated.
        case texts
        case numbers
        /// One pair per flag, with this separator.
        case pairs(Character)
        case file
    }

    let flag: Command.Flag
    private let member: String
    /// The name in an object that is the member.
    private var part: String?
    private let form: Form
    private var use: Use?

    private init(
        _ name: String, _ placeholder: String?, _ help: String, _ form: Form, member: String? = nil,
        part: String? = nil, only use: Use? = nil, values: [String] = [], time: TimeDirection? = nil
    ) {
        flag = Command.Flag(
            name, placeholder, help, values: values, time: time,
            member: part.map { "\(member ?? name)/\($0)" } ?? member)
        self.member = member ?? name.replaced("-", by: "_")
        self.part = part
        self.form = form
        self.use = use
    }

    static let signature = DelegateField(
        "signature", "v1|v1a", "How callbacks are signed: HMAC-SHA256 or Ed25519.", .text, only: .registration,
        values: ["v1", "v1a"])
    static let secretFile = Command.Flag(
        "secret-file", "FILE", "Sign with the secret in this file (whsec_...); - reads it from stdin.")

    private static let preset = DelegateField(
        "preset", "NAME", "A recipe for the requests: slack, teams, github, sqs, ... --request adds to it.", .text,
        member: "request", part: "preset")

    private static let tls = [
        DelegateField(
            "tls-ca", "FILE", "Certificate authorities (PEM) to trust for this receiver alone.", .file, member: "tls",
            part: "ca"),
        DelegateField(
            "tls-pin", "TEXT", "The SHA-256 of the receiver's public key, in base64.", .text, member: "tls", part: "pin"
        ),
        DelegateField(
            "tls-client-certificate", "FILE", "The certificate (PEM) that Herald shows to the receiver.", .file,
            member: "tls", part: "client_certificate"),
        DelegateField(
            "tls-client-key", "FILE", "The private key (PEM) of --tls-client-certificate.", .file, member: "tls",
            part: "client_key"),
    ]

    /// The settings that a change can have, in the order of the API, and then what only a registration can have.
    private static let all =
        WebhookField.all.compactMap(DelegateField.init) + tls + [
            preset,
            DelegateField(
                "start", "ID|TIME|now|earliest", "Where to begin: an event, a time, 1h ago, ... Default: now.",
                .position, only: .registration, values: ["now", "earliest"], time: .past),
            DelegateField(
                "replay-current-state", nil, "Send the current state first.", .yes, only: .registration),
            signature,
        ]

    /// The flag of a setting; `nil` for one with several flags.
    private init?(_ field: WebhookField) {
        // A number of seconds is a flag without its unit, which the placeholder says.
        let isTime = field.name.hasSuffix("_seconds")
        let name = (isTime ? String(field.name.dropLast(8)) : field.name).replaced("_", by: "-")
        let unit = isTime ? "SECONDS" : "NUMBER"
        func range(_ lower: String, _ upper: String) -> String { "\(field.help), \(lower) to \(upper)." }
        switch field.kind {
        case .integer(_, let numbers), .optionalInteger(_, let numbers):
            let help = range(String(numbers.lowerBound), String(numbers.upperBound))
            self.init(name, unit, help, .number, member: field.name)
        case .optionalNumber(_, let numbers):
            let help = range(numbers.lowerBound.text, numbers.upperBound.text)
            self.init(name, unit, help, .number, member: field.name)
        case .text: self.init(name, "TEXT", field.help, .text)
        case .choice(let choice):
            let words = choice.words
            // A delegate keeps its kind.
            self.init(
                name, "WORD", "\(field.help): \(words.joined(separator: ", ")).", .text,
                only: field.name == "kind" ? .registration : nil, values: words)
        case .special(let special):
            switch special {
            case .url: self.init(name, "URL", field.help, .text, only: .change)
            case .events, .subjects: self.init(name, "LIST", field.help, .texts)
            case .filter, .request: self.init(name, "JSON|@FILE", field.help, .json)
            case .metadata: self.init(name, "KEY=VALUE", field.help, .pairs("="))
            case .headers: self.init("header", "NAME:VALUE", field.help, .pairs(":"), member: field.name)
            case .retrySchedule: self.init(name, "LIST", field.help, .numbers)
            case .tls: return nil  // Self.tls
            }
        }
    }

    static func of(_ use: Use) -> [DelegateField] { all.filter { $0.use == nil || $0.use == use } }

    static var registrationOnly: [Command.Flag] {
        all.filter { $0.use == .registration }.map(\.flag) + [secretFile]
    }

    static func body(_ call: Invocation, _ use: Use, url: String? = nil) throws(CommandError) -> [UInt8] {
        var members: [(String, RawJSON)] = []
        for field in of(use) where field.part == nil {
            if let json = try field.json(call) { members.append((field.member, json)) }
        }
        var parts: [(String, RawJSON)] = []
        for field in tls {
            if let name = field.part, let json = try field.json(call) { parts.append((name, json)) }
        }
        if !parts.isEmpty {
            members.append(("tls", .object { object in for (name, value) in parts { object.member(name, value) } }))
        }
        if let name = call[preset.flag.name] {
            let index = members.firstIndex(where: { $0.0 == preset.member })
            let recipe = try Self.recipe(preset: name, index.map { members[$0].1 })
            if let index { members[index].1 = recipe } else { members.append((preset.member, recipe)) }
        }
        if use == .registration, let secret = try secret(call) {
            members.append(("secret", .value(secret)))
        }
        guard use == .registration || !members.isEmpty else {
            throw CommandError("Nothing to change. `herald delegates change --help` lists the settings.")
        }
        return JSONWriter.document { object in
            object.member("url", ifPresent: url)
            for (name, value) in members { object.member(name, value) }
        }
    }

    /// The recipe of `--request` with the preset.
    private static func recipe(preset name: String, _ request: RawJSON?) throws(CommandError) -> RawJSON {
        let document = request.flatMap { try? JSONDocument(parsing: Array($0.bytes)) }
        if request != nil, document?.root.kind != .object {
            throw CommandError("--request must be an object beside --preset.")
        }
        return .object { object in
            object.member("preset", name)
            for (key, value) in document?.root.members.map({ $0 }) ?? [] where key != "preset" {
                object.member(key, value)
            }
        }
    }

    static func secret(_ call: Invocation) throws(CommandError) -> String? {
        guard let path = call[secretFile.name] else { return nil }
        let text = String(decoding: try Input.bytes(path == "-" ? path : "@" + path), as: UTF8.self)
        return text.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
    }

    /// `nil` without the flag.
    private func json(_ call: Invocation) throws(CommandError) -> RawJSON? {
        guard let text = call[flag.name] else { return nil }
        if text == "default" { return .value(JSONNull()) }
        switch form {
        case .text: return .value(text)
        case .position: return .value(try ShortID.events.resolve(text, call))
        case .file: return .value(String(decoding: try Input.file(text), as: UTF8.self))
        case .number: return try number(text)
        case .json: return try Input.json(text, "--" + flag.name)
        case .yes: return .value(true)
        case .texts: return .value(call.list(flag.name) ?? [])
        case .numbers:
            let texts = call.list(flag.name) ?? []
            return .value(try texts.map { text throws(CommandError) in try number(text) })
        case .pairs(let separator):
            var pairs: [(String, String)] = []
            for text in call.flags[flag.name] ?? [] {
                let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, !parts[0].isEmpty else {
                    // The value of a header may be a secret.
                    let shown = separator == ":" ? "***" : text
                    throw CommandError("--\(flag.name) is \"\(shown)\", but must be \(flag.placeholder ?? "").")
                }
                pairs.append((String(parts[0]), String(parts[1].drop { $0 == " " })))
            }
            return .object { for (key, value) in pairs { $0.member(key, value) } }
        }
    }

    /// As written, so that the server validates the number that was meant.
    private func number(_ text: String) throws(CommandError) -> RawJSON {
        guard let document = try? JSONDocument(parsing: text), document.root.kind == .number else {
            throw CommandError("--\(flag.name) is \"\(text)\", but must be a number.")
        }
        return RawJSON(document.root.bytes[...])
    }
}

extension Double {
    /// Without a fraction of zero.
    fileprivate var text: String { Int(exactly: self).map(String.init) ?? description }
}
