import HeraldCrypto
import HeraldTestSupport
import Testing

@Suite("Signature schemes")
struct SchemeTests {
    private static let now: Int64 = 1_700_000_000
    private static let body = Array(#"{"type": "order.paid", "data": {"name": "Zoë", "url": "a/b"}}"#.utf8)
    private static let form = [
        (name: "To", value: "+1555"), (name: "Body", value: "Hi & bye"), (name: "To", value: "+1"),
    ]

    private static func message(_ body: [UInt8] = body) -> Scheme.Message {
        Scheme.Message(
            id: "evt_1", timestamp: now, body: body, url: "https://example.com/hook?a=1", form: form)
    }

    /// The keys to sign and to verify with.
    private static func keys(_ scheme: Scheme, _ seed: UInt8 = 7) throws -> (signing: [UInt8], verifying: [UInt8]) {
        switch scheme.algorithm {
        case .ed25519:
            let pair = try Ed25519.PrivateKey(seed: [UInt8](repeating: seed, count: 32))
            return (pair.seed, pair.publicKey.bytes)
        case .token:
            let token = Array("token-of-seed-\(seed)".utf8)
            return (token, token)
        default:
            let key = scheme.key == .whsec ? [UInt8](repeating: seed, count: 32) : Array("secret of seed \(seed)".utf8)
            return (key, key)
        }
    }

    private static func verify(
        _ scheme: Scheme, _ headers: [(name: String, value: String)], body: [UInt8] = body, url: String? = nil,
        form: [(name: String, value: String)] = form, keys: [[UInt8]], now: Int64 = now
    ) throws -> SchemeVerdict {
        try scheme.verify(
            body: body, url: url ?? "https://example.com/hook?a=1", form: form,
            header: { name in headers.first { $0.name.lowercased() == name }?.value }, keys: keys, now: now)
    }

    @Test("each preset is valid, and accepts what it signs", arguments: Scheme.presets.map(\.name))
    func presets(_ name: String) throws {
        let scheme = try #require(Scheme.preset(name))
        #expect(scheme.problems.isEmpty, "\(scheme.problems)")
        let (signing, verifying) = try Self.keys(scheme)
        let headers = try scheme.headers(for: Self.message(), keys: [signing])
        #expect(try Self.verify(scheme, headers, keys: [try Self.keys(scheme, 9).verifying, verifying]) == .verified)
        #expect(try Self.verify(scheme, headers, keys: [try Self.keys(scheme, 9).verifying]) == .forged(.unknown))
        #expect(try Self.verify(scheme, [], keys: [verifying]) != .verified)
    }

    @Test("the published examples of GitHub, Slack, Standard Webhooks and Twilio have these signatures")
    func published() throws {
        // docs.github.com, "Testing the webhook payload validation".
        let github = try Scheme.github.headers(
            for: Scheme.Message(id: "", timestamp: 0, body: Array("Hello, World!".utf8)),
            keys: [Array("It's a Secret to Everybody".utf8)])
        #expect(
            github.map(\.value) == ["sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"])
        // docs.slack.dev, "Verifying requests from Slack".
        let slackBody =
            "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
            + "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
            + "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
            + "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
        let slack = try Scheme.slack.headers(
            for: Scheme.Message(id: "", timestamp: 1_531_420_618, body: Array(slackBody.utf8)),
            keys: [Array("8f742231b10e8888abcd99yyyzzz85a5".utf8)])
        #expect(slack.first?.value == "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
        // The example of Standard Webhooks.
        let standard = try Scheme.standard.headers(
            for: Scheme.Message(
                id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8)
            ),
            keys: [try Scheme.standard.key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", for: .signing)])
        #expect(standard.first?.value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        // twilio.com/docs/usage/security, "Validating requests".
        let twilio = try Scheme.twilio.headers(
            for: Scheme.Message(
                id: "", timestamp: 0, body: [], url: "https://mycompany.com/myapp.php?foo=1&bar=2",
                form: [
                    ("CallSid", "CA1234567890ABCDE"), ("Caller", "+14158675309"), ("Digits", "1234"),
                    ("From", "+14158675309"), ("To", "+18005551212"),
                ]),
            keys: [Array("12345".utf8)])
        #expect(twilio.first?.value == "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
    }

    @Test("while secrets are replaced, a value that can hold several signatures has all, another one the newest")
    func rotation() throws {
        let (new, old) = (Array("new".utf8), Array("old".utf8))
        func value(_ scheme: Scheme) throws -> String {
            try #require(scheme.headers(for: Self.message(), keys: [new, old]).first?.value)
        }
        #expect(try value(.standard).split(separator: " ").count == 2)
        #expect(try value(.stripe).split(separator: ",").map { $0.prefix(3) } == ["t=1", "v1=", "v1="])
        #expect(try value(.paddle).split(separator: ";").map { $0.prefix(3) } == ["ts=", "h1=", "h1="])
        for scheme in [Scheme.standard, .svix, .stripe, .paddle] {
            let headers = try scheme.headers(for: Self.message(), keys: [new, old])
            for key in [new, old] { #expect(try Self.verify(scheme, headers, keys: [key]) == .verified) }
        }
        for scheme in [Scheme.github, .slack, .shopify, .gitlab] {
            let newest = try scheme.headers(for: Self.message(), keys: [new]).map(\.value)
            #expect(try scheme.headers(for: Self.message(), keys: [new, old]).map(\.value) == newest)
        }
    }

    @Test("every change of body, header, time, id, URL or form is refused", arguments: Scheme.presets.map(\.name))
    func mutations(_ name: String) throws {
        let scheme = try #require(Scheme.preset(name))
        let (signing, verifying) = try Self.keys(scheme)
        let headers = try scheme.headers(for: Self.message(), keys: [signing])
        var random = SeededRandom(seed: 34)
        func refused(_ headers: [(name: String, value: String)], body: [UInt8] = Self.body, _ what: String) throws {
            let verdict = try Self.verify(scheme, headers, body: body, keys: [verifying])
            #expect(verdict != .verified, "\(name): \(what)")
        }
        for index in headers.indices {
            let value = Array(headers[index].value.utf8)
            for position in value.indices {
                var changed = headers
                var bytes = value
                bytes[position] = UInt8(ascii: "0") + (bytes[position] &+ UInt8(random.number(1...9))) % 75
                if bytes == value { continue }
                changed[index].value = String(decoding: bytes, as: UTF8.self)
                try refused(changed, "\(headers[index].name) \(changed[index].value)")
            }
            for other in [String(headers[index].value.dropLast()), headers[index].value + "0", ""] {
                var changed = headers
                changed[index].value = other
                try refused(changed, "\(headers[index].name) \(other)")
            }
            try refused(headers.enumerated().filter { $0.offset != index }.map(\.element), "no \(headers[index].name)")
        }
        if scheme.content.contains("{body}"), scheme.algorithm != .token {
            for position in Self.body.indices {
                var body = Self.body
                body[position] ^= UInt8(1 << random.number(0...7))
                try refused(headers, body: body, "the body at \(position)")
            }
            try refused(headers, body: Array(Self.body.dropLast()), "a shorter body")
            try refused(headers, body: Self.body + [0], "a longer body")
        }
        if scheme.content.contains("{url}") {
            let verdict = try Self.verify(scheme, headers, url: "https://example.com/hook?a=2", keys: [verifying])
            #expect(verdict == .forged(.unknown))
        }
        if scheme.content.contains("{form}") {
            let other = [(name: "To", value: "+1556")]
            #expect(try Self.verify(scheme, headers, form: other, keys: [verifying]) == .forged(.unknown))
        }
    }

    @Test("a signed time may differ by five minutes, and a time that is not signed is not examined")
    func age() throws {
        for (name, scheme) in Scheme.presets {
            let (signing, verifying) = try Self.keys(scheme)
            let headers = try scheme.headers(for: Self.message(), keys: [signing])
            func verdict(_ seconds: Int64) throws -> SchemeVerdict {
                try Self.verify(scheme, headers, keys: [verifying], now: Self.now + seconds)
            }
            let isSigned = scheme.content.contains("{timestamp}")
            #expect(try verdict(300) == .verified && verdict(-300) == .verified, "\(name)")
            #expect(try verdict(400) == (isSigned ? .stale(seconds: 400, limit: 300) : .verified), "\(name)")
            #expect(try verdict(-301) == (isSigned ? .stale(seconds: -301, limit: 300) : .verified), "\(name)")
        }
    }

    // MARK: Explanations

    @Test("a wrong signature says what would make it right")
    func explanations() throws {
        let sent = Array(#"{"a":1,"name":"Zoë","url":"x/y","list":[1,2],"none":{}}"#.utf8)
        func verdict(
            _ scheme: Scheme, signed: [UInt8]? = nil, received: [UInt8]? = nil, key: [UInt8], given: [UInt8]? = nil,
            url: String? = nil, now: Int64 = Self.now, change: (String) -> String = { $0 }
        ) throws -> String {
            var headers = try scheme.headers(for: Self.message(signed ?? sent), keys: [key])
            headers[0].value = change(headers[0].value)
            return try Self.verify(
                scheme, headers, body: received ?? signed ?? sent, url: url, keys: [given ?? key], now: now
            ).description
        }
        let key = Array("a secret".utf8)
        let newline = key + Array("\n".utf8)
        #expect(
            try verdict(.github, key: key, given: newline)
                == "the secret begins or ends with white space: it is right without")
        #expect(
            try verdict(.gitlab, key: Array("token".utf8), given: Array("token\n".utf8))
                == "the secret begins or ends with white space: it is right without")
        let whsec = [UInt8](repeating: 3, count: 32)
        #expect(
            try verdict(.stripe, key: whsec, given: Array(SecretText.print(whsec).utf8))
                == "the secret is used as text: it is right if the part after whsec_ is decoded from base64")
        #expect(
            try verdict(.svix, key: Array(SecretText.print(whsec).utf8), given: whsec)
                == "the secret is decoded from base64: it is right if its whole text is the key")
        #expect(
            try verdict(.stripe, received: sent + Array("\n".utf8), key: key)
                == "the body was changed: it is right without the last newline")
        #expect(
            try verdict(.stripe, signed: sent + Array("\n".utf8), received: sent, key: key)
                == "the body was changed: it is right with a newline at its end")
        let again = "the body was decoded and encoded again: it is right "
        // As Python writes what it has read, and the other way round.
        let python = Array(#"{"a": 1, "name": "Zo\u00eb", "url": "x/y", "list": [1, 2], "none": {}}"#.utf8)
        #expect(
            try verdict(.github, received: python, key: key)
                == again + "without spaces between its parts, with characters beyond ASCII as they are")
        #expect(
            try verdict(.github, signed: python, received: sent, key: key)
                == again + "with a space after each colon and comma, with characters beyond ASCII as \\u escapes")
        let php = Array(#"{"a":1,"name":"Zo\u00eb","url":"x\/y","list":[1,2],"none":{}}"#.utf8)
        #expect(try verdict(.github, signed: php, received: sent, key: key) == again + "with \\/ for each slash")
        let indented = Array(
            """
            {
              "a": 1,
              "name": "Zoë",
              "url": "x/y",
              "list": [
                1,
                2
              ],
              "none": {}
            }
            """.utf8)
        #expect(try verdict(.stripe, signed: indented, received: sent, key: key) == again + "indented by two spaces")
        #expect(
            try verdict(.square, key: key, url: "http://example.com/hook?a=1")
                == "the URL is another one: it is right for https://example.com/hook?a=1")
        #expect(
            try verdict(.github, key: key, change: { "sha256=" + $0.dropFirst(7).uppercased() })
                == "the signature is right, but written as hexadecimal digits in upper case")
        #expect(
            try verdict(.stripe, key: key, given: Array("other".utf8)) == "the signature is of another secret or body")
        #expect(
            try verdict(.stripe, key: key, now: Self.now + 400)
                == "the timestamp is 400 s old, at most 300 are accepted")
        #expect(
            try verdict(.stripe, key: key, change: { _ in "nonsense" })
                == "the header Stripe-Signature must be like t={timestamp},v1={signature}")
        #expect(try verdict(.stripe, key: key, change: { _ in "" }) == "the header Stripe-Signature is missing")
        #expect(
            try verdict(.slack, key: key, given: key, change: { $0 }) == "the signature is valid")
    }

    // MARK: Problems

    @Test("what is wrong with a scheme is said with the pointer of the field")
    func problems() {
        func pointers(_ change: (inout Scheme) -> Void) -> [String] {
            var scheme = Scheme.stripe
            change(&scheme)
            return scheme.problems.map(\.pointer)
        }
        #expect(pointers { $0.header = "a b" } == ["/header"])
        #expect(pointers { $0.header = "Content-Length" } == ["/header"])
        #expect(pointers { $0.header = "" } == ["/header"])
        #expect(pointers { $0.timestampHeader = "stripe-signature" } == ["/header"])
        #expect(pointers { $0.idHeader = "é" } == ["/id_header"])
        #expect(pointers { $0.content = "{tmestamp}.{body}" } == ["/content"])
        #expect(pointers { $0.content = "{timestamp}" } == ["/content"])
        #expect(pointers { $0.content = "{body" } == ["/content"])
        #expect(pointers { $0.content = "body}" } == ["/content"])
        #expect(pointers { $0.content = "{body}{signature}" } == ["/content"])
        #expect(pointers { $0.content = "{body}.{body}" } == ["/content"])
        #expect(pointers { $0.content = "{id}.{body}" } == ["/id_header"])
        #expect(pointers { $0.value = "{signature}" } == ["/timestamp_header"])
        #expect(pointers { $0.value = "t={timestamp}" } == ["/value"])
        #expect(pointers { $0.value = "{timestamp}{signature}" } == ["/value"])
        #expect(pointers { $0.value = "{signature},{signature},{timestamp}" } == ["/value"])
        #expect(pointers { $0.value = "t={timestamp},v1={signature}\n" } == ["/value"])
        #expect(pointers { $0.value = String(repeating: "a", count: 300) + "{timestamp},{signature}" } == ["/value"])
        #expect(pointers { $0.content = String(repeating: "a", count: 300) + "{body}" } == ["/content"])
        #expect(
            pointers {
                $0.algorithm = .token
                $0.key = .whsec
            } == ["/value", "/key"])
        #expect(throws: CryptoError.self) {
            try Scheme(header: "a b").headers(for: Self.message(), keys: [[1]])
        }
    }

    @Test("the text of a secret becomes a key as the scheme says, and an invalid one is not quoted")
    func keys() throws {
        let seed = [UInt8](repeating: 7, count: 32)
        let pair = try Ed25519.PrivateKey(seed: seed)
        #expect(try Scheme.stripe.key("whsec_abc", for: .signing) == Array("whsec_abc".utf8))
        #expect(try Scheme.svix.key(SecretText.print(seed), for: .verifying) == seed)
        #expect(try Scheme.discord.key(Hex.encode(seed), for: .signing) == seed)
        #expect(try Scheme.discord.key(pair.text, for: .signing) == seed)
        #expect(try Scheme.discord.key(Hex.encode(pair.publicKey.bytes), for: .verifying) == pair.publicKey.bytes)
        #expect(try Scheme.standardEd25519.key(pair.publicKey.text, for: .verifying) == pair.publicKey.bytes)
        for (scheme, text) in [
            (Scheme.svix, "no-prefix"), (.stripe, ""), (.discord, "no-digits"), (.gitlab, "two words"), (.gitlab, ""),
        ] {
            let error = #expect(throws: SchemeKeyError.self) { try scheme.key(text, for: .signing) }
            #expect(text.isEmpty || error?.description.contains(text) == false)
        }
    }

    @Test("HMAC-SHA-1 and HMAC-SHA-512 agree with RFC 2202 and RFC 4231")
    func hashes() throws {
        for (hash, code) in [
            (HMAC.Hash.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (
                .sha512,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                    + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
            ),
        ] {
            let hmac = try HMAC(hash, key: Array("Jefe".utf8))
            for _ in 0..<2 {
                hmac.update(Array("what do ya want for nothing?".utf8))
                #expect(Hex.encode(try hmac.finish()) == code)
            }
        }
    }
}
