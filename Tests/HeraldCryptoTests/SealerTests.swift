import HeraldCrypto
import Testing

@Suite struct SealerTests {
    private let key = [UInt8](0..<32)

    @Test("sealed values open again, only in their context", arguments: [0, 1, 24, 64, 10_000])
    func roundTrip(_ count: Int) throws {
        let sealer = Sealer(try MasterKey(bytes: key))
        let secret = try randomBytes(count)
        let sealed = try sealer.seal(secret, context: "secret 7")
        #expect(sealed.count == count + Sealer.overhead)
        #expect(try sealer.open(sealed, context: "secret 7") == secret)
        #expect(throws: SealError.damaged) { try sealer.open(sealed, context: "secret 8") }
        #expect(throws: SealError.damaged) { try sealer.open(sealed, context: "") }
        let bare = try sealer.seal(secret, context: "")
        #expect(try sealer.open(bare, context: "") == secret)
    }

    @Test("the same secret is sealed differently each time")
    func nonces() throws {
        let sealer = Sealer(try MasterKey(bytes: key))
        #expect(try sealer.seal([1, 2, 3], context: "a") != sealer.seal([1, 2, 3], context: "a"))
    }

    @Test("a wrong key is reported by name")
    func otherKey() throws {
        let one = try MasterKey(bytes: key)
        let two = try MasterKey(bytes: key.reversed())
        let sealed = try Sealer(one).seal([1], context: "a")
        #expect(throws: SealError.otherKey) { try Sealer(two).open(sealed, context: "a") }
        #expect(Sealer.keyID(of: sealed) == one.id)
        #expect(one.id != two.id)
    }

    @Test("every changed byte is detected")
    func damage() throws {
        let sealer = Sealer(try MasterKey(bytes: key))
        let sealed = try sealer.seal(Array("a secret".utf8), context: "a")
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 0x80
            let expected: SealError = index == 0 ? .notSealed : index <= 8 ? .otherKey : .damaged
            #expect(throws: expected) { try sealer.open(damaged, context: "a") }
        }
        for count in sealed.indices {
            #expect(throws: (any Error).self) { try sealer.open(Array(sealed.prefix(count)), context: "a") }
        }
        #expect(throws: SealError.notSealed) { try sealer.open([], context: "a") }
        #expect(throws: SealError.notSealed) { try sealer.open(Array("whsec_plain".utf8), context: "a") }
    }

    @Test(
        "a master key is read in all forms of base 64",
        arguments: [
            "+/+/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "+/+/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "-_-_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "-_-_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ])
    func keyText(_ text: String) throws {
        let bytes: [UInt8] = [0xFB, 0xFF, 0xBF] + .init(repeating: 0, count: 29)
        #expect(try MasterKey(text: text) == MasterKey(bytes: bytes))
    }

    @Test("any other master key is refused with a reason that does not repeat it, and keys are never printed")
    func keyErrors() throws {
        #expect(throws: MasterKeyError.notBase64) { try MasterKey(text: "correct horse battery staple") }
        #expect(throws: MasterKeyError.wrongLength(0)) { try MasterKey(text: "") }
        #expect(throws: MasterKeyError.wrongLength(3)) { try MasterKey(text: "Zm9v") }
        let key = try MasterKey(bytes: self.key)
        #expect("\(key)" == "***")
        #expect(!String(reflecting: Sealer(key)).contains("bytes"))
    }

    @Test("constant-time equality is equality")
    func equality() {
        #expect(isEqualInConstantTime([], []))
        #expect(isEqualInConstantTime([1, 2], [1, 2]))
        #expect(!isEqualInConstantTime([1, 2], [1, 3]))
        #expect(!isEqualInConstantTime([1, 2], [1]))
    }
}
