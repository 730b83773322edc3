import HeraldReceiver
import HeraldRuntime

extension Command {
    static let verify = Command(
        name: "verify", summary: "check the signature of a callback, without a server",
        details: """
            The standard input is the body, byte for byte. The headers come from a file with one on each line, as
            curl -v and most logs write them, or one by one. Exits 0 when a signature fits, else 1.
            """,
        flags: [
            Flag(
                name: "secret", placeholder: "KEY",
                help: "The whsec_ secret or whpk_ public key. May be given again; one that verifies is enough."),
            Flag(name: "secret-file", placeholder: "FILE", help: "Keys in a file, one on each line."),
            Flag(name: "headers", placeholder: "FILE", help: "The headers: \"name: value\" on each line."),
            Flag(name: "id", placeholder: "ID", help: "The header webhook-id."),
            Flag(name: "timestamp", placeholder: "SECONDS", help: "The header webhook-timestamp."),
            Flag(name: "signature", placeholder: "TEXT", help: "The header webhook-signature."),
            Flag(name: "any-age", help: "Accept signatures that are older than five minutes."),
        ],
        examples: [
            "herald verify --secret-file secret.txt --headers headers.txt < body.json",
            "herald verify --secret whsec_... --id evt_1 --timestamp 1700000000 --signature v1,... < body.json",
        ],
        action: .run(VerifyCommand.run))
}

private enum VerifyCommand {
    static func run(_ call: Invocation) throws(CommandError) {
        let check = try check(call)
        let headers = try headers(call)
        let body = try Input.bytes("-")
        let verdict: SignatureCheck.Verdict
        do {
            verdict = try check.verdict(on: body, now: Clock.system.wall()) { headers[$0] }
        } catch {
            throw CommandError(description: "\(error).", exitCode: ExitCode.software)
        }
        switch verdict {
        case .verified: try Output.line("The signature is valid.")
        case .stale(let seconds) where call.has("any-age"):
            try Output.line("The signature is valid, and \(seconds) s old.")
        case .stale(let seconds):
            let when = seconds > 0 ? "\(seconds) s old" : "\(-seconds) s ahead of this clock"
            throw no("The signature is valid, but \(when): it could be a replay. --any-age accepts it.")
        case .unsigned(let header): throw no("The header \(header) is missing or invalid.")
        case .forged:
            throw no("No signature is valid: another key, or a body that is not byte for byte the one that was sent.")
        }
    }

    private static func no(_ text: String) -> CommandError {
        CommandError(description: text, exitCode: ExitCode.refused)
    }

    private static func check(_ call: Invocation) throws(CommandError) -> SignatureCheck {
        var keys = call.flags["secret"] ?? []
        for path in call.flags["secret-file"] ?? [] {
            keys += String(decoding: try Input.file(path), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(
                String.init)
        }
        guard !keys.isEmpty else { throw CommandError(description: "--secret or --secret-file is missing.") }
        do throws(SignatureKeyError) {
            return try SignatureCheck(keys: keys)
        } catch {
            throw CommandError(description: error.description)
        }
    }

    /// By name in lower case. Flags override the file.
    private static func headers(_ call: Invocation) throws(CommandError) -> [String: String] {
        var headers: [String: String] = [:]
        if let path = call["headers"] {
            let text = String(decoding: try Input.file(path), as: UTF8.self)
            for line in text.split(whereSeparator: \.isNewline) {
                // curl -v marks lines with these.
                let parts = line.drop { "<> ".contains($0) }.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { continue }
                headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
            }
        }
        for name in ["id", "timestamp", "signature"] {
            if let value = call[name] { headers["webhook-" + name] = value }
        }
        return headers
    }
}
