import HeraldCrypto
import HeraldTestSupport
import Testing

@Suite("Signature verification in the receiver", .timeLimit(.minutes(20)))
struct SignatureTests {
    /// The example of Standard Webhooks.
    private let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    private let body = #"{"test": 2432232314}"#
    private let sentAt = 1_614_265_330

    /// The verdict of a check on a request that a receiver got.
    private func verdict(
        _ keys: [String], _ signature: String?, body: String? = nil, secondsLater: Int = 0
    ) async throws -> SchemeVerdict {
        let receiver = try Receiver()
        defer { receiver.close() }
        let body = body ?? self.body
        try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port)
            client.send(
                "POST / HTTP/1.1\r\nwebhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\nwebhook-timestamp: \(sentAt)\r\n"
                    + (signature.map { "webhook-signature: \($0)\r\n" } ?? "")
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            _ = try client.readResponse()
        }
        let request = try #require(receiver.requests.first)
        return try SignatureCheck(keys: keys).verdict(on: request, now: Int64(sentAt + secondsLater) * 1000)
    }

    @Test("one matching pair of several signatures and keys is enough")
    func verified() async throws {
        let other = SecretText.print([UInt8](repeating: 1, count: 32))
        #expect(try await verdict([other, secret], "v1,AAAA v1a,BBBB \(signature)") == .verified)
        #expect(try await verdict([secret], signature, secondsLater: 300) == .verified)
        #expect(try await verdict([secret], signature, secondsLater: 301) == .stale(seconds: 301, limit: 300))
        #expect(try await verdict([secret], signature, secondsLater: -301) == .stale(seconds: -301, limit: 300))
        #expect(try await verdict([other], signature) == .forged(.unknown))
        #expect(
            try await verdict([secret], signature, body: body + " ")
                == .forged(.bodyEnd("without the white space at its ends")))
        #expect(try await verdict([secret], "v1,%%% nonsense") == .forged(.unknown))
        #expect(try await verdict([secret], nil) == .missing(header: "webhook-signature"))
    }

    @Test("v1a: Ed25519 with a public key")
    func asymmetric() async throws {
        let key = try Ed25519.PrivateKey(seed: [UInt8](repeating: 7, count: 32))
        let signed = Array("msg_p5jXN8AQM9LWM0D4loKWxJek.\(sentAt).\(body)".utf8)
        let signature = "v1a," + Base64.encode(try key.sign(signed))
        #expect(try await verdict([key.publicKey.text], signature) == .verified)
        #expect(try await verdict([key.publicKey.text], signature, body: "other") == .forged(.unknown))
        #expect(try await verdict([secret], signature) != .verified)
    }

    @Test(
        "invalid keys are refused without being printed", arguments: ["abc", "whsec_%", "whsec_AAAA", "whpk_AAAA"])
    func keys(_ text: String) {
        let error = #expect(throws: SignatureKeyError.self) { try SignatureCheck(keys: [text]) }
        #expect(error?.description.contains(text) == false)
    }
}
