import HeraldCrypto
import HeraldReceiver
import HeraldRuntime

extension Command {
    static let verify = Command(
        name: "verify", summary: "check the signature of a callback, without a server",
        details: """
            The standard input is the body, byte for byte. The headers come from a file with one on each line, as
            curl -v and most logs write them, or from flags. Exits 0 if a signature is valid, else 1. The output then names
            the cause, if it can be found.
            """,
        flags: [
            Flag(
                "secret", "KEY",
                "The secret, or for Ed25519 the public key. May be repeated: one that matches is enough."),
            Flag("secret-file", "FILE", "Keys in a file, one on each line."),
            Flag(
                "scheme", "NAME",
                "The signature scheme: github, stripe, slack, svix, ... An unknown name lists all. Default: standard.",
                values: Scheme.presets.map(\.name)),
            Flag("url", "URL", "The URL that the sender has, for square and twilio."),
            Flag("headers", "FILE", "The headers: \"name: value\" on each line."),
            Flag("id", "ID", "The header with the id, such as webhook-id."),
            Flag("timestamp", "SECONDS", "The header with the time, such as webhook-timestamp."),
            Flag("signature", "TEXT", "The header with the signature, such as webhook-signature."),
            Flag("any-age", nil, "Accept signatures that are older than five minutes."),
        ],
        examples: [
            "herald verify --secret-file secret.txt --headers headers.txt < body.json",
            "herald verify --secret whsec_... --id evt_1 --timestamp 1700000000 --signature v1,... < body.json",
            "herald verify --scheme github --secret-file secret.txt --headers headers.txt < body.json",
        ],
        action: .run(verifySignature))

    private static func verifySignature(_ call: Invocation) throws(CommandError) {
        let scheme = try call["scheme"].map(Scheme.named)
        let check = try signatureCheck(call, scheme)
        let headers = try headers(call, scheme ?? .standard)
        let body = try Input.bytes("-")
        let verdict: SchemeVerdict
        do {
            verdict = try check.verdict(on: body, now: Clock.system.wall(), url: call["url"] ?? "") { headers[$0] }
        } catch {
            throw CommandError("\(error).", exitCode: ExitCode.software)
        }
        switch verdict {
        case .verified: try Output.line("The signature is valid.")
        case .stale(let seconds, _) where call.has("any-age"):
            try Output.line("The signature is valid, and \(seconds) s old.")
        case .stale(let seconds, _):
            let when =
                seconds > 0
                ? "\(seconds) s old: it could be a replay, or this clock is fast"
                : "\(-seconds) s ahead of this clock: set the clocks of both machines"
            throw no("The signature is valid, but \(when). --any-age accepts it.")
        case .missing, .malformed: throw no("The message is not signed: \(verdict).")
        case .forged(.unknown):
            throw no("No signature is valid: another key, or a body that is not byte for byte the one that was sent.")
        case .forged(let mismatch): throw no("No signature is valid: \(mismatch).")
        }
    }

    private static func no(_ text: String) -> CommandError {
        CommandError(text, exitCode: ExitCode.refused)
    }

    private static func signatureCheck(_ call: Invocation, _ scheme: Scheme?) throws(CommandError) -> SignatureCheck {
        var keys = call.flags["secret"] ?? []
        for path in call.flags["secret-file"] ?? [] {
            let text = String(decoding: try Input.file(path), as: UTF8.self)
            keys += text.split { scheme == nil ? $0.isWhitespace : $0.isNewline }.map(String.init)
        }
        guard !keys.isEmpty else { throw CommandError("--secret or --secret-file is missing.") }
        do throws(SignatureKeyError) {
            return try SignatureCheck(keys: keys, scheme: scheme)
        } catch {
            throw CommandError(error.description)
        }
    }

    /// By name in lower case. Flags override the file.
    private static func headers(_ call: Invocation, _ scheme: Scheme) throws(CommandError) -> [String: String] {
        var headers: [String: String] = [:]
        if let path = call["headers"] {
            let text = String(decoding: try Input.file(path), as: UTF8.self)
            for line in text.split(whereSeparator: \.isNewline) {
                // curl -v marks lines with these.
                let parts = line.drop { "<> ".contains($0) }.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { continue }
                headers[parts[0].lowercased()] = String(parts[1].trimmed { $0 == " " || $0 == "\t" })
            }
        }
        for (flag, name) in [
            ("id", scheme.idHeader), ("timestamp", scheme.timestampHeader), ("signature", scheme.header),
        ] {
            guard let value = call[flag] else { continue }
            guard let name else { throw CommandError("--\(flag): the scheme has no such header.") }
            headers[name.lowercased()] = value
        }
        return headers
    }
}

extension Scheme {
    static func named(_ name: String) throws(CommandError) -> Scheme {
        if let scheme = preset(name) { return scheme }
        let names = presets.map(\.name).joined(separator: ", ")
        throw CommandError("--scheme is \"\(name)\", but must be one of: \(names).")
    }
}
