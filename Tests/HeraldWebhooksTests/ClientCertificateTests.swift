import HeraldCrypto
import HeraldModel
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite("The TLS settings of a delegate", .timeLimit(.minutes(20)))
struct ClientCertificateTests {
    private let authority: CertificateAuthority
    private let clients: CertificateAuthority

    init() throws {
        authority = try CertificateAuthority()
        clients = try CertificateAuthority()
    }

    @Test("its own authorities replace all others, for it alone")
    func authorities() async throws {
        let own = try CertificateAuthority()
        let receiver = try Receiver(tls: ReceiverTLS(own))
        let usual = try Receiver(tls: ReceiverTLS(authority))
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver, usual) }
        let tls = TLSSettings(authorities: own.pem)
        #expect(await loop.send(delegate(receiver.url())).failure == .tls)
        #expect(await loop.send(delegate(receiver.url(), key: 2) { $0.tls = tls }).isSuccess)
        #expect(await loop.send(delegate(receiver.url(), key: 3)).failure == .tls)
        #expect(await loop.send(delegate(usual.url(), key: 4) { $0.tls = tls }).failure == .tls)
        #expect(await loop.send(delegate(usual.url(), key: 5)).isSuccess)
    }

    @Test("a client key that takes long to sign is refused")
    func longKey() throws {
        func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            // At least 256 bytes.
            var bytes: [UInt8] = [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)]
            bytes += content
            return bytes
        }
        /// An RSA key whose modulus and private exponent consist of ones.
        func problems(bits: Int, exponentBytes: Int = 256) -> [FieldError] {
            var members: [UInt8] = [2, 1, 0]
            members += der(2, [0] + [UInt8](repeating: 0xFF, count: bits / 8))
            members += [2, 3, 1, 0, 1]
            members += der(2, [0] + [UInt8](repeating: 0xFF, count: exponentBytes))
            for _ in 1...5 { members += [2, 1, 1] }
            let text = Array(Base64.encode(der(0x30, members)))
            let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
            let pem =
                "-----BEGIN RSA PRIVATE KEY-----\n" + lines.joined(separator: "\n")
                + "\n-----END RSA PRIVATE KEY-----\n"
            var settings = WebhookSettings(url: "https://hooks.example/")
            settings.tls = TLSSettings(clientCertificate: authority.pem, clientKey: pem)
            return CallbackRules(AddressGuard()).problems(of: &settings)
        }
        #expect(problems(bits: 4096).map(\.detail) == ["does not belong to client_certificate"])
        #expect(problems(bits: 4104).map(\.detail) == ["must have at most 4096 bits"])
        #expect(problems(bits: 4104).map(\.pointer) == ["/tls/client_key"])
        // A signature takes as long as its exponent is.
        #expect(
            problems(bits: 4096, exponentBytes: 30_000).map(\.detail) == ["must have at most 4096 bits"])
    }

    @Test("more certificates than a connection may parse are refused")
    func manyCertificates() {
        func pointers(_ count: Int) -> [String] {
            var settings = WebhookSettings(url: "https://hooks.example/")
            settings.tls = TLSSettings(authorities: String(repeating: authority.pem, count: count))
            return CallbackRules(AddressGuard()).problems(of: &settings).map(\.pointer)
        }
        #expect(pointers(16) == [])
        #expect(pointers(17) == ["/tls/ca"])
    }

    @Test("with TLS 1.2 only forward secrecy and authenticated encryption are used")
    func suites() async throws {
        let old = try Receiver(tls: ReceiverTLS(authority, oldCiphers: "ECDHE-ECDSA-AES128-SHA:AES128-SHA"))
        let good = try Receiver(tls: ReceiverTLS(authority, oldCiphers: "ECDHE-ECDSA-AES128-GCM-SHA256"))
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: old, good) }
        #expect(await loop.send(delegate(old.url())).failure == .tls)
        #expect(old.requests.isEmpty)
        #expect(await loop.send(delegate(good.url(), key: 2)).isSuccess)
    }

    @Test("a receiver with another key than the pinned one gets nothing, even with a valid certificate")
    func pin() async throws {
        let receiver = try Receiver(tls: ReceiverTLS(authority))
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        let other = try authority.makeIdentity().pin
        let outcome = await loop.send(delegate(receiver.url()) { $0.tls = TLSSettings(pin: other) })
        #expect(outcome.failure == .tls, "\(outcome)")
        #expect(receiver.requests.isEmpty)
        let pin = try #require(receiver.pin)
        #expect(await loop.send(delegate(receiver.url(), key: 2) { $0.tls = TLSSettings(pin: pin) }).isSuccess)
    }

    /// With TLS 1.3 the refusal comes after the handshake, with the response or instead of it.
    @Test("a client certificate that is missing or refused is a failure of TLS, and the attempt says so each time")
    func refusedCertificate() async throws {
        let receiver = try Receiver(tls: ReceiverTLS(authority, clientAuthority: clients))
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        let stranger = try CertificateAuthority().makeIdentity(names: ["herald.example"])
        let tls = TLSSettings(clientCertificate: stranger.certificate, clientKey: stranger.key)
        for number in 1...20 {
            let missing = await loop.send(delegate(receiver.url(), key: 1))
            let refused = await loop.send(delegate(receiver.url(), key: 2) { $0.tls = tls })
            for (outcome, words) in [(missing, "certificate"), (refused, "")] {
                #expect(outcome.failure == .tls, "\(number): \(outcome)")
                #expect(outcome.detail.contains(words), "\(number): \(outcome)")
                #expect(!outcome.detail.contains("getpeername"))
            }
        }
        #expect(receiver.requests.isEmpty)
    }

    @Test("a receiver that requires a client certificate gets it, over separate connections for each delegate")
    func clientCertificate() async throws {
        let receiver = try Receiver(tls: ReceiverTLS(authority, clientAuthority: clients))
        let loop = try SendingLoop(trusting: authority)
        defer { loop.stop(closing: receiver) }
        let identity = try clients.makeIdentity(names: ["herald.example"])
        let tls = TLSSettings(clientCertificate: identity.certificate, clientKey: identity.key)
        for _ in 1...3 {
            #expect(await loop.send(delegate(receiver.url("/1"), key: 1) { $0.tls = tls }).isSuccess)
        }
        #expect(receiver.connectionCount == 1)
        // The same certificate, another delegate.
        #expect(await loop.send(delegate(receiver.url("/2"), key: 2) { $0.tls = tls }).isSuccess)
        #expect(receiver.connectionCount == 2)
        // Without one, or with a stranger's, nothing arrives, over no connection that is open already either.
        #expect(await !loop.send(delegate(receiver.url("/3"), key: 3)).isSuccess)
        let stranger = try authority.makeIdentity()
        let wrong = TLSSettings(clientCertificate: stranger.certificate, clientKey: stranger.key)
        #expect(await !loop.send(delegate(receiver.url("/4"), key: 4) { $0.tls = wrong }).isSuccess)
        #expect(Set(receiver.requests.map(\.path)) == ["/1", "/2"])
    }

    @Test("the key is never printed")
    func printing() {
        let tls = TLSSettings(clientCertificate: "certificate", clientKey: "the private key")
        var dumped = ""
        dump(tls, to: &dumped)
        for text in ["\(tls)", String(reflecting: tls), dumped, "\(WebhookSettings(url: "https://a/"))"] {
            #expect(!text.contains("the private key"))
        }
    }
}
