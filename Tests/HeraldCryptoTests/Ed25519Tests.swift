import HeraldCrypto
import Testing

@Suite struct Ed25519Tests {
    @Test("a signature is that of the published v1a example")
    func standardWebhooks() throws {
        let key = try Ed25519.PrivateKey(
            text: "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==")
        let signed = Array(#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#.utf8)
        let signature = try key.sign(signed)
        #expect(
            Base64.encode(signature)
                == "hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
        #expect(key.publicKey.text == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        let published = try Ed25519.PublicKey(text: "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        #expect(published == key.publicKey)
        #expect(published.verifies(signature, of: signed))
    }

    @Test("keys and signatures agree with the examples of RFC 8032")
    func rfc8032() throws {
        let seed = try #require(Hex.decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        let empty = try Ed25519.PrivateKey(seed: seed)
        #expect(
            Hex.encode(empty.publicKey.bytes) == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        #expect(
            Hex.encode(try empty.sign([]))
                == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b")
    }

    @Test("a changed message, signature or key is not verified")
    func changed() throws {
        let key = try Ed25519.PrivateKey(seed: randomBytes(32))
        let other = try Ed25519.PrivateKey(seed: randomBytes(32))
        let message = Array("hello".utf8)
        let signature = try key.sign(message)
        #expect(key.publicKey.verifies(signature, of: message))
        #expect(!key.publicKey.verifies(signature, of: message + [0]))
        #expect(!other.publicKey.verifies(signature, of: message))
        #expect(!key.publicKey.verifies(signature.dropLast(), of: message))
        #expect(!key.publicKey.verifies([], of: message))
        for index in signature.indices {
            var damaged = signature
            damaged[index] ^= 1
            #expect(!key.publicKey.verifies(damaged, of: message))
        }
    }

    @Test("keys survive their text forms, and a private one doesn't print")
    func texts() throws {
        let key = try Ed25519.PrivateKey(seed: randomBytes(32))
        #expect(try Ed25519.PrivateKey(text: key.text).seed == key.seed)
        #expect(try Ed25519.PublicKey(text: key.publicKey.text) == key.publicKey)
        #expect("\(key)" == "***")
        #expect(String(reflecting: key) == "***")
    }

    @Test("texts in any other form are refused with a reason that doesn't repeat them")
    func notAKey() throws {
        #expect(throws: KeyTextError.noPrefix("whsk_")) { try Ed25519.PrivateKey(text: "whpk_AAAA") }
        #expect(throws: KeyTextError.notBase64(prefix: "whpk_")) { try Ed25519.PublicKey(text: "whpk_%%%%") }
        #expect(throws: KeyTextError.wrongLength(3, expected: "64")) { try Ed25519.PrivateKey(text: "whsk_Zm9v") }
        #expect(throws: KeyTextError.wrongLength(3, expected: "32")) { try Ed25519.PublicKey(text: "whpk_Zm9v") }
        let unpaired = Ed25519.PrivateKey.prefix + Base64.encode([UInt8](repeating: 1, count: 64))
        #expect(throws: KeyTextError.notAPair) { try Ed25519.PrivateKey(text: unpaired) }
        #expect(throws: Ed25519Error.seedLength(31)) { try Ed25519.PrivateKey(seed: .init(repeating: 0, count: 31)) }
        #expect(throws: Ed25519Error.publicKeyLength(0)) { try Ed25519.PublicKey(bytes: []) }
    }

    @Test("the JSON web key and its thumbprint agree with RFC 8037")
    func webKey() throws {
        let bytes = try #require(Hex.decode("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))
        let key = try Ed25519.PublicKey(bytes: bytes)
        let members = JSONWebKey(key).members
        #expect(members.map(\.name) == ["kty", "crv", "x", "kid", "use", "alg"])
        #expect(
            members.map(\.value) == [
                "OKP", "Ed25519", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
                "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "sig", "EdDSA",
            ])
    }
}
