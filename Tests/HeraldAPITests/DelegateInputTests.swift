import HeraldCore
import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import HeraldWebhooks
import Testing

@testable import HeraldAPI

@Suite("The settings of a webhook in a request")
struct DelegateInputTests {
    private static let check = WebhookRules { CallbackRules(AddressGuard()).problems(of: &$0) }

    private func register(_ members: String...) throws -> DelegateInput.Registration {
        let text = "{" + ([#""url": "http://a/""#] + members).joined(separator: ", ") + "}"
        return try DelegateInput.registration(JSONDocument(parsing: text), Self.check)
    }

    /// The pointers of what is wrong.
    private func errors(_ body: () throws -> Void) -> [String] {
        do {
            try body()
            return []
        } catch let problem as Problem {
            return problem.items.map {
                if case .pointer(let pointer) = $0.place { pointer } else { "?" }
            }
        } catch {
            return ["\(error)"]
        }
    }

    @Test("every setting is read")
    func settings() throws {
        let settings = try register(
            #""format": "cloudevents_binary", "ordering": "strict", "rate_limit": 0.01, "lease_seconds": 10, "disable_after_seconds": 60"#,
            #""verification": "challenge", "http_version": "2", "filter": {"data": {"plan": ["pro"]}}"#
        ).settings
        #expect(settings.format == .cloudeventsBinary)
        #expect(settings.ordering == .strict)
        #expect(settings.rateLimit == 0.01)
        #expect(settings.leaseSeconds == 10)
        #expect(settings.disableAfterSeconds == 60)
        #expect(settings.verification == .challenge)
        #expect(settings.httpVersion == .http2)
        #expect(settings.filter?.text == Array(#"{"data":{"plan":["pro"]}}"#.utf8))
    }

    @Test("TLS settings are read, merged, and validated with the URL")
    func tls() throws {
        let authority = try CertificateAuthority()
        let (one, two) = (try authority.makeIdentity(), try authority.makeIdentity())
        func json(_ text: String) -> String { String(decoding: JSONWriter.document(of: text), as: UTF8.self) }
        func tls(_ members: String) throws -> TLSSettings {
            let text = #"{"url": "https://a/", "tls": {\#(members)}}"#
            return try DelegateInput.registration(JSONDocument(parsing: text), Self.check).settings.tls
        }
        let pair = #""client_certificate": \#(json(one.certificate)), "client_key": \#(json(one.key))"#
        #expect(
            try tls(#"\#(pair), "ca": \#(json(authority.pem)), "pin": "\#(one.pin)""#)
                == TLSSettings(
                    authorities: authority.pem, pin: one.pin, clientCertificate: one.certificate, clientKey: one.key))
        #expect(try tls(#""ca": null"#).isEmpty)
        for (members, wrong) in [
            (#""ca": "none""#, "/tls/ca"), (#""ca": 1"#, "/tls/ca"), (#""pin": "abc""#, "/tls/pin"),
            (#""pin": "\#(String(one.pin.dropLast()) + "!")""#, "/tls/pin"), (#""verify": false"#, "/tls/verify"),
            (#""client_certificate": \#(json(one.certificate))"#, "/tls/client_key"),
            (#""client_key": \#(json(one.key))"#, "/tls/client_certificate"),
            (#""client_certificate": \#(json(one.certificate)), "client_key": \#(json(two.key))"#, "/tls/client_key"),
            (#""client_certificate": \#(json(one.certificate)), "client_key": "x""#, "/tls/client_key"),
        ] {
            #expect(errors { _ = try tls(members) } == [wrong], "\(members.prefix(60))")
        }
        #expect(errors { _ = try register(#""tls": {"pin": "\#(one.pin)"}"#) } == ["/tls"])

        // A change is held against what is there.
        var state = WebhookDelegate.State(settings: WebhookSettings(url: "https://a/"), secrets: [])
        func change(_ members: String) throws {
            try DelegateInput.patch(JSONDocument(parsing: "{\(members)}"), Self.check)(&state, 0)
        }
        try change(#""tls": {\#(pair)}"#)
        try change(#""tls": {"pin": "\#(one.pin)"}"#)
        #expect(state.settings.tls.clientKey == one.key && state.settings.tls.pin == one.pin)
        let before = state
        for members in [#""tls": {"client_key": null}"#, #""url": "http://a/""#] {
            #expect(throws: FieldErrors.self) { try change(members) }
            state = before
        }
        try change(#""tls": null, "url": "http://a/""#)
        #expect(state.settings.tls.isEmpty)
    }

    @Test("null is the default of every setting")
    func defaults() throws {
        let all = DelegateInput.fields.filter { $0 != "url" }.map { "\"\($0)\": null" }
        let registration = try register(all.joined(separator: ", "))
        #expect(registration.settings == WebhookSettings(url: "http://a/"))
        #expect(registration.start == .now)
        #expect(!registration.replaysCurrentState)
        #expect(registration.secret.brought == nil && registration.secret.scheme == nil)
    }

    @Test(
        "values beyond a limit are refused, and named",
        arguments: [
            #""format": "xml""#, #""ordering": "none ""#, #""rate_limit": 0"#, #""rate_limit": 0.009"#,
            #""rate_limit": 10000.1"#, #""rate_limit": "1""#, #""lease_seconds": 9"#, #""lease_seconds": 31536001"#,
            #""disable_after_seconds": 59"#,
            #""lease_seconds": 60.5"#, #""verification": true"#, #""http_version": 2"#, #""http_version": "3""#,
            #""start": "last night""#, #""start": 5"#, #""replay_current_state": "yes""#, #""secret": "whsec_short""#,
            #""secret": "abc""#, #""secret": "whsk_AAAA""#, #""signature": "v2""#,
        ])
    func limits(member: String) {
        let name = member.split(separator: "\"").first.map(String.init) ?? ""
        #expect(errors { _ = try register(member) } == ["/" + name])
    }

    @Test("all errors are reported at once, including a filter's clauses")
    func several() {
        let found = errors {
            _ = try register(
                #""format": 1, "rate_limit": -1, "filter": {"data": {"a": 1, "b": [{"like": "x"}]}}, "colour": "red""#)
        }
        #expect(Set(found.prefix { $0 != "" }).isSuperset(of: ["/colour", "/format", "/rate_limit"]))
        #expect(found.contains { $0.hasPrefix("/filter/data/a") } && found.contains { $0.hasPrefix("/filter/data/b") })
    }

    @Test("a position in the log is a word, a time or an event's id")
    func places() throws {
        #expect(try register(#""start": "earliest""#).start == .earliest)
        #expect(try register(#""start": "1970-01-01T00:00:01Z""#).start == .time(1000))
        #expect(try register(#""start": "evt_1""#).start == .event(id: "evt_1"))
    }

    @Test("a secret determines its signature, which must agree with the requested one")
    func secrets() throws {
        let hmac = #""secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw""#
        let pair =
            #""secret": "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==""#
        #expect(try register(hmac).secret.scheme == .v1)
        #expect(try register(pair).secret.scheme == .v1a)
        #expect(
            try register(pair).secret.brought?.publicKey == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        #expect(errors { _ = try register(pair, #""signature": "v1""#) } == ["/secret"])
        #expect(try register(#""signature": "v1a""#).secret.scheme == .v1a)
    }

    // MARK: Patches

    private func patched(_ old: WebhookSettings, _ status: WebhookDelegate.Status, _ text: String) throws
        -> WebhookDelegate.State
    {
        var state = WebhookDelegate.State(
            settings: old, status: status, secrets: [DelegateSecret(SigningSecret(bytes: []))])
        try DelegateInput.patch(JSONDocument(parsing: text), Self.check)(&state, 1_000)
        return state
    }

    @Test("a patch with fields of a registration is refused, and the error says what to do instead")
    func firstFields() throws {
        for field in DelegateInput.firstFields {
            let document = try JSONDocument(parsing: "{\"\(field)\": null}")
            do {
                _ = try DelegateInput.patch(document, Self.check)
                Issue.record("\(field) was taken")
            } catch {
                let item = try #require(error.items.first)
                #expect(item.detail.hasPrefix("can't be changed"), "\(field)")
            }
        }
    }

    @Test("a patched lease starts again, and ends without one")
    func lease() throws {
        let settings = WebhookSettings(url: "http://a/")
        #expect(try patched(settings, .active, #"{"lease_seconds": 60}"#).expiresAt == 61_000)
        #expect(try patched(settings, .active, #"{"lease_seconds": null}"#).expiresAt == nil)
    }

    @Test("a lease is renewed although the settings are older than a rule, which holds for the next change")
    func oldSettings() throws {
        var settings = WebhookSettings(url: "http://a/")
        settings.leaseSeconds = 60
        settings.headers = [KeyValue("Host", "x")]
        #expect(try patched(settings, .active, #"{"lease_seconds": 60}"#).expiresAt == 61_000)
        #expect(throws: FieldErrors.self) {
            try patched(settings, .active, #"{"lease_seconds": 61}"#)
        }
    }
}
