import Foundation
import HeraldCrypto
import HeraldTestSupport
import Testing

/// Held against the libraries of the providers from PyPI, when HERALD_VENV names a Python that has them.
@Suite("Signature schemes and the libraries of their providers", .timeLimit(.minutes(20)))
struct ProviderTests {
    private static let providers = ["standard", "svix", "github", "stripe", "slack", "twilio", "discord"]
    private static let count = 200

    /// A message that a library shall accept, or refuse.
    private struct Case {
        let provider: String
        let isForged: Bool
        let secret: String
        var message: Scheme.Message
        var headers: [(name: String, value: String)]

        /// A line of words in base64: provider, secret, URL, body, then each field of the form, then each header.
        var line: String {
            func word(_ bytes: [UInt8]) -> String { Base64.encode(bytes) + "." }
            let texts =
                [provider, secret, message.url].map { word(Array($0.utf8)) } + [word(message.body)]
            let pairs = [message.form, headers].map { list in
                list.map { word(Array($0.name.utf8)) + "=" + word(Array($0.value.utf8)) }.joined(separator: ",")
            }
            return (texts + pairs).joined(separator: " ") + " .\n"
        }
    }

    @Test(
        "each accepts 200 of 200 that we sign, and none of 200 forged ones", .enabled(if: getenv("HERALD_VENV") != nil))
    func libraries() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let now = Int64(Date().timeIntervalSince1970)
        var random = SeededRandom(seed: 34)
        var cases: [Case] = []
        for name in Self.providers {
            let scheme = try #require(Scheme.preset(name))
            for _ in 0..<Self.count {
                let good = try Self.signed(name, scheme, now, &random)
                cases.append(good)
                cases.append(try Self.forged(good, scheme, &random))
            }
        }
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-c", Self.script], input: Array(cases.map(\.line).joined().utf8))
        let verdicts = result.text.split(separator: "\n").map(String.init)
        try #require(verdicts.count == cases.count, "\(result.text.suffix(2000))")
        for (index, example) in cases.enumerated() {
            #expect(
                verdicts[index] == (example.isForged ? "refused" : "accepted"),
                "\(example.provider) \(verdicts[index]) \(example.headers) \(example.message)")
        }
    }

    private static func signed(
        _ name: String, _ scheme: Scheme, _ now: Int64, _ random: inout SeededRandom
    ) throws -> Case {
        let seed = (0..<random.number(24...64)).map { _ in UInt8.random(in: 0...255, using: &random) }
        let secret =
            switch (scheme.algorithm, scheme.key) {
            case (.ed25519, _): Hex.encode(Array((seed + seed).prefix(Ed25519.seedByteCount)))
            case (_, .whsec): SecretText.print(seed)
            default: text(random.number(16...64), ascii: true, &random)
            }
        let isForm = scheme.content.contains("{form}")
        // Standard Webhooks and Stripe read the body as UTF-8.
        let message = Scheme.Message(
            id: "evt_\(random.next())", timestamp: now + Int64(random.number(-60...60)),
            body: isForm ? [] : Array(text(random.number(0...600), ascii: false, &random).utf8),
            url: isForm ? "https://example.com/hook?a=\(random.next())" : "",
            form: isForm
                ? (0..<random.number(0...8)).map { _ in
                    (
                        text(random.number(1...8), ascii: true, &random),
                        text(random.number(0...20), ascii: false, &random)
                    )
                } : [])
        let key = try scheme.key(secret, for: .signing)
        // While a secret is replaced.
        let keys = random.chance(0.3) ? [Array("another key of the past".utf8), key] : [key]
        let isList = ["standard", "svix", "stripe"].contains(name)
        let headers = try scheme.headers(for: message, keys: isList ? keys : [key])
        // The receiver has the public key.
        let known =
            scheme.algorithm == .ed25519 ? Hex.encode(try Ed25519.PrivateKey(seed: key).publicKey.bytes) : secret
        return Case(provider: name, isForged: false, secret: known, message: message, headers: headers)
    }

    private static func forged(_ good: Case, _ scheme: Scheme, _ random: inout SeededRandom) throws -> Case {
        var bad = Case(
            provider: good.provider, isForged: true, secret: good.secret, message: good.message, headers: good.headers)
        switch random.number(0...3) {
        case 0:
            // Signed with another secret.
            bad.headers = try scheme.headers(for: bad.message, keys: [Array("a key of someone else, 32 bytes.".utf8)])
        case 1 where scheme.timestampHeader != nil:
            bad.headers[1].value = String(bad.message.timestamp + 1)
        case 2 where scheme.idHeader != nil:
            bad.headers[2].value += "x"
        case 3 where !bad.message.body.isEmpty:
            bad.message.body[random.number(0...bad.message.body.count - 1)] = UInt8(ascii: "~")
            if bad.message.body == good.message.body { bad.message.body.append(UInt8(ascii: "x")) }
        default:
            bad.message.body.append(UInt8(ascii: "x"))
            if scheme.content.contains("{url}") { bad.message.url += "x" }
        }
        return bad
    }

    private static func text(_ count: Int, ascii: Bool, _ random: inout SeededRandom) -> String {
        let odd = Array("é€😀\n\t\\\"&=+%/ ".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<count {
            let plain = Unicode.Scalar(UInt8(random.number(ascii ? 0x30...0x39 : 0x20...0x7e)))
            text.append(ascii || random.chance(0.8) ? plain : odd[random.number(0...odd.count - 1)])
        }
        return String(text)
    }

    /// Each line is a message; prints whether the library accepts it.
    private static let script = """
        import base64, contextlib, io, sys
        import discord_interactions, gidgethub.sansio, slack_sdk.signature, standardwebhooks, stripe, svix, twilio.request_validator

        def word(text):
            return base64.b64decode(text.rstrip("."))

        def pairs(text):
            return [tuple(word(part).decode() for part in pair.split(".=")) for pair in text.split(",") if pair]

        def accepts(provider, secret, url, body, form, headers):
            if provider == "standard":
                standardwebhooks.Webhook(secret).verify(body, headers, json_parse=False)
            elif provider == "svix":
                svix.Webhook(secret).verify(body, headers)
            elif provider == "github":
                gidgethub.sansio.validate_event(body, signature=headers["x-hub-signature-256"], secret=secret)
            elif provider == "stripe":
                stripe.WebhookSignature.verify_header(body.decode(), headers["stripe-signature"], secret, 300)
            elif provider == "slack":
                return slack_sdk.signature.SignatureVerifier(secret).is_valid_request(body, headers)
            elif provider == "twilio":
                validator = twilio.request_validator.RequestValidator(secret)
                return validator.validate(url, Fields(form), headers["x-twilio-signature"])
            elif provider == "discord":
                # It prints why it refuses.
                with contextlib.redirect_stdout(io.StringIO()):
                    return discord_interactions.verify_key(
                        body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], secret)
            return True

        class Fields(dict):
            # As frameworks have it: a name may have several values.
            def __init__(self, pairs):
                super().__init__(pairs)
                self.pairs = pairs
            def getlist(self, name):
                return [value for key, value in self.pairs if key == name]

        for line in sys.stdin:
            provider, secret, url, body, form, headers, _ = line.rstrip("\\n").split(" ")
            provider, secret, url = (word(text).decode() for text in (provider, secret, url))
            headers = {name.lower(): value for name, value in pairs(headers)}
            try:
                verdict = accepts(provider, secret, url, word(body), pairs(form), headers)
            except (standardwebhooks.WebhookVerificationError, gidgethub.ValidationFailure,
                    stripe.SignatureVerificationError, UnicodeDecodeError):
                verdict = False
            print("accepted" if verdict else "refused")
        """
}
