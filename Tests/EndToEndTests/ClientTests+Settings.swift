import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@testable import HeraldCLI

@Suite("The command line: settings of delegates and apps", .timeLimit(.minutes(20)))
struct ClientSettingsTests {
    @Test("the TLS settings of a delegate are read from files, changed one by one, and used")
    func tls() async throws {
        let (authority, clients) = (try CertificateAuthority(), try CertificateAuthority())
        let receiver = try Receiver(tls: ReceiverTLS(authority, clientAuthority: clients))
        defer { receiver.close() }
        let folder = TemporaryFolder()
        let identity = try clients.makeIdentity(names: ["herald.example"])
        let ca = try folder.write(authority.pem, to: "ca.pem")
        let certificate = try folder.write(identity.certificate, to: "client.pem")
        let key = try folder.write(identity.key, to: "client.key")
        let client = Client(try await HeraldProcess.start())
        let added = try await client.run("delegates", "add", receiver.url(), "--tls-ca", ca, "--json")
        #expect(added.end == .exited(0), "\(added.text)")
        let id = try added.document().text("id")
        // The receiver requires a certificate.
        #expect(try await client.run("delegates", "test", id).end == .exited(1))
        let pin = try #require(receiver.pin)
        let changed = try await client.run(
            "delegates", "change", id, "--tls-client-certificate", certificate, "--tls-client-key", key, "--tls-pin",
            pin, "--json")
        #expect(changed.end == .exited(0), "\(changed.text)")
        #expect(try changed.document()["tls"]?["ca"]?.string == authority.pem)
        #expect(try await client.run("delegates", "test", id).end == .exited(0))
        let reset = try await client.run("delegates", "change", id, "--tls-pin", "default", "--json")
        #expect(try reset.document()["tls"]?["pin"]?.isNull != false)

        let wrong = try await client.run("delegates", "change", id, "--tls-ca", key)
        #expect(wrong.end != .exited(0) && wrong.text.contains("--tls-ca "), "\(wrong.text)")
        let none = try await client.run("delegates", "change", id, "--tls-ca", folder.path + "/none.pem")
        #expect(none.end == .exited(66) && none.text.contains("none.pem"), "\(none.text)")
    }

    @Test("attempts of a delegate are listed by error and time")
    func attempts() async throws {
        let client = Client(try await HeraldProcess.start())
        let receiver = try Receiver { .status($0.path == "/ill" ? 503 : 404) }
        defer { receiver.close() }
        let id = try await client.herald.register(receiver.url("/ill"), #""retry_schedule": [86400]"#).id
        _ = try await client.herald.deliveries(of: try await client.herald.publish("order.paid"), "retrying")
        func count(_ flags: String...) async throws -> Int {
            try await Client.run(
                ["delegates", "attempts", id, "--json"] + flags, server: "http://127.0.0.1:\(client.herald.port)"
            ).json.filter { $0["id"] != nil }.count
        }
        _ = try await client.herald.get("/v1/delegates/\(id)/attempts") { $0.data.count == 1 }
        #expect(try await count() == 1)
        #expect(try await count("--error", "5xx,timeout", "--since", "1h") == 1)
        #expect(try await count("--error", "404") == 0)
        #expect(try await count("--until", "1h") == 0)
        let refused = try await client.run("delegates", "attempts", id, "--error", "none such")
        #expect(refused.end == .exited(64) || refused.text.contains("--error"), "\(refused.text)")
    }

    @Test("a preview shows changed settings of a delegate; flags of a registration need a URL")
    func preview() async throws {
        let client = Client(try await HeraldProcess.start())
        let id = try await client.herald.register("http://127.0.0.1:9/hook").id
        let shown = try await client.run(
            "delegates", "preview", id, "--preset", "slack", "--request", #"{"body": {"text": "Hello {{ type }}"}}"#)
        #expect(shown.text.contains(#"{"text":"Hello example.happened"}"#), "\(shown.text)")
        let plain = try await client.run("delegates", "preview", id)
        #expect(plain.text.contains(#""type":"example.happened""#), "\(plain.text)")
        let refused = try await client.run("delegates", "preview", id, "--start", "earliest")
        #expect(refused.end == .exited(64) && refused.text.contains("--start"), "\(refused.text)")
    }

    @Test("a test call sends the event or the example that was given")
    func testCall() async throws {
        let client = Client(try await HeraldProcess.start())
        let receiver = try Receiver()
        defer { receiver.close() }
        let id = try await client.herald.register(receiver.url()).id
        let example = try await client.run("delegates", "test", id, "--type", "order.paid")
        let plain = try await client.run("delegates", "test", id)
        #expect(example.end == .exited(0) && plain.end == .exited(0), "\(example.text)\(plain.text)")
        let types = try await receiver.requests(2).map { try JSONDocument(parsing: $0.body)["type"]?.string }
        #expect(types == ["order.paid", "herald.test"])
        let both = try await client.run("delegates", "test", id, "--type", "order.paid", "--event", "evt_0")
        #expect(both.end == .exited(64) && both.text.contains("--event and --type"), "\(both.text)")
    }

    @Test("the portal of an app is set, shown and reset, and its logo is read from a file")
    func portal() async throws {
        let client = Client(try await HeraldProcess.start())
        let folder = TemporaryFolder()
        let picture = try folder.write("GIF89a", to: "logo.gif")
        let made = try await client.run(
            "apps", "create", "shop", "--portal-title", "The shop", "--portal-logo", picture, "--portal-color",
            "#0b5cad",
            "--portal-language", "de", "--portal-frame-origins", "https://a.example,https://b.example")
        #expect(made.end == .exited(0), "\(made.text)")
        let portal = try await client.run("apps", "show", "shop", "--json").document()["portal"]
        #expect(portal?["title"]?.string == "The shop" && portal?["language"]?.string == "de")
        #expect(portal?["logo"]?.string == "data:image/gif;base64,R0lGODlh")
        #expect(portal?["frame_origins"]?.elements.count { _ in true } == 2)
        let changed = try await client.run("apps", "change", "shop", "--portal-logo", "default", "--json")
        #expect(try changed.document()["portal"]?["logo"]?.isNull == true)
        #expect(try changed.document()["portal"]?["title"]?.string == "The shop")
        let pale = try await client.run("apps", "change", "shop", "--portal-color", "#eeeeee")
        #expect(pale.end != .exited(0) && pale.text.contains("--portal-color"), "\(pale.text)")
        let text = try folder.write("no picture", to: "logo.txt")
        let refused = try await client.run("apps", "change", "shop", "--portal-logo", text)
        #expect(refused.end == .exited(65) && refused.text.contains("logo.txt"), "\(refused.text)")
    }
}
