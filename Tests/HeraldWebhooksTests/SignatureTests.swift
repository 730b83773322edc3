import HeraldCrypto
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite(.timeLimit(.minutes(20))) struct SignatureTests {
    private let now: Int64 = 1_614_265_330_999
    private let old = [UInt8](repeating: 1, count: 24)

    private func secret(_ bytes: [UInt8], until expiry: Int64? = nil) -> DelegateSecret {
        DelegateSecret(SigningSecret(bytes: bytes), expiresAt: expiry)
    }

    /// Returns the requests that a receiver gets from delegates with these secrets, one callback after the other.
    private func requests(_ secrets: [[DelegateSecret]]) async throws -> [ReceivedRequest] {
        let receiver = try Receiver()
        let now = self.now
        let loop = try SendingLoop(clock: .stopped(at: now))
        defer { loop.stop(closing: receiver) }
        for secrets in secrets { #expect(await loop.send(delegate(receiver.url(), secrets: secrets)).isSuccess) }
        return receiver.requests
    }

    @Test("every secret signs, newest first, and the handle returns to one")
    func severalSecrets() async throws {
        let requests = try await requests([[secret(secretBytes), secret(old)], [secret(old)]])
        let expected = try [
            "\(v1(secretBytes, requests[0])) \(v1(old, requests[0]))", v1(old, requests[1]),
        ]
        #expect(requests.map { $0.header("webhook-signature") } == expected)
    }

    @Test("a secret signs until it expires, and no longer")
    func expiry() async throws {
        let requests = try await requests([
            [secret(secretBytes), secret(old, until: now + 1)], [secret(secretBytes), secret(old, until: now)],
        ])
        #expect(
            try requests[0].header("webhook-signature") == "\(v1(secretBytes, requests[0])) \(v1(old, requests[0]))")
        #expect(try requests[1].header("webhook-signature") == v1(secretBytes, requests[1]))
    }

    @Test("a delegate with only expired secrets gets nothing without a signature")
    func allExpired() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        let outcome = await loop.send(delegate(receiver.url(), secrets: [secret(old, until: 1)]))
        #expect(outcome.failure == .protocolError)
        #expect(outcome.detail.contains("expired"))
        #expect(receiver.requests.isEmpty)
    }

    @Test("v1a signs with Ed25519, beside an old v1 secret during a rotation")
    func ed25519() async throws {
        let key = try Ed25519.PrivateKey(seed: randomBytes(32))
        let entry = DelegateSecret(SigningSecret(.v1a, bytes: key.seed))
        let requests = try await requests([[entry], [entry, secret(old)]])
        let signatures = requests.map { $0.header("webhook-signature")?.split(separator: " ").map(String.init) ?? [] }
        #expect(signatures.map(\.count) == [1, 2])
        for (request, signatures) in zip(requests, signatures) {
            let signature = try #require(Base64.decode(signatures[0].dropFirst(4)))
            #expect(signatures[0].hasPrefix("v1a,"))
            #expect(key.publicKey.verifies(signature, of: signedContent(request)))
        }
        let old = try v1(old, requests[1])
        #expect(signatures[1][1] == old)
    }

    @Test("a v1a key of the wrong length is a failure that says so")
    func wrongKey() async throws {
        let (receiver, loop) = try connected()
        defer { loop.stop(closing: receiver) }
        let entry = DelegateSecret(SigningSecret(.v1a, bytes: [1, 2, 3]))
        let outcome = await loop.send(delegate(receiver.url(), secrets: [entry]))
        #expect(outcome.detail.contains("32 bytes"))
        #expect(receiver.requests.isEmpty)
    }
}
