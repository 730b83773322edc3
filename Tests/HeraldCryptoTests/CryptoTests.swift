import HeraldCrypto
import Testing

@Suite struct CryptoTests {
    @Test("SHA-256 agrees with the examples of FIPS 180")
    func sha256() {
        #expect(Hex.encode(SHA256.hash([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            Hex.encode(SHA256.hash(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("HMAC agrees with RFC 4231, and a key can be reused")
    func hmac() throws {
        let hmac = try HMAC(key: Array("Jefe".utf8))
        for _ in 0..<3 {
            hmac.update(Array("what do ya want ".utf8))
            hmac.update([])
            hmac.update(Array("for nothing?".utf8))
            #expect(Hex.encode(try hmac.finish()) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        }
    }

    @Test("a secret of Svix gets the prefix that it lacks", arguments: ["wh", "", "whsec"])
    func prefixes(start: String) {
        let bare = start + String(repeating: "A", count: 40 - start.utf8.count)
        #expect(SecretText.prefixed(bare) == "whsec_" + bare)
        for prefix in ["whsec_", "whsk_"] { #expect(SecretText.prefixed(prefix + bare) == prefix + bare) }
    }

    @Test("a signature is that of the published Standard Webhooks example")
    func standardWebhooks() throws {
        let key = try SecretText.parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let hmac = try HMAC(key: key)
        hmac.update(Array(#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#.utf8))
        #expect(Base64.encode(try hmac.finish()) == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("a new secret survives its text form")
    func secretText() throws {
        let secret = try SecretText.newSecret()
        #expect(secret.count == 32)
        #expect(secret != (try SecretText.newSecret()))
        #expect(try SecretText.parse(SecretText.print(secret)) == secret)
        #expect(SecretText.print(secret).hasPrefix("whsec_"))
    }

    @Test("secrets in any other form are refused with a reason that doesn't repeat them")
    func notASecret() {
        #expect(throws: KeyTextError.noPrefix("whsec_")) { try SecretText.parse("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") }
        #expect(throws: KeyTextError.notBase64(prefix: "whsec_")) { try SecretText.parse("whsec_%%%%") }
        #expect(throws: KeyTextError.wrongLength(3, expected: "24 to 64")) { try SecretText.parse("whsec_Zm9v") }
        let long = SecretText.print([UInt8](repeating: 0, count: 65))
        #expect(throws: KeyTextError.wrongLength(65, expected: "24 to 64")) { try SecretText.parse(long) }
    }
}
