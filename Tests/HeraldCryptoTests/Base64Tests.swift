import HeraldCrypto
import Testing

@Suite struct Base64Tests {
    @Test(
        "base 64 agrees with RFC 4648 both ways",
        arguments: zip(
            ["", "f", "fo", "foo", "foob", "fooba", "foobar"],
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]))
    func base64(_ plain: String, _ text: String) {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        #expect(Base64.decodeURLSafe(Base64.encodeURLSafe(Array(plain.utf8))) == Array(plain.utf8))
    }

    @Test("all bytes survive base 64, also for URLs")
    func base64RoundTrip() {
        let bytes = (0...255).map { UInt8($0) } + [255, 254]
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.decodeURLSafe(Base64.encodeURLSafe(bytes)) == bytes)
        #expect(Base64.encodeURLSafe([0xFB, 0xFF]) == "-_8")
    }

    @Test(
        "base 64 in any other form is refused",
        arguments: [
            "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zm-_", "Zm=v", "Zöv=",
        ])
    func notBase64(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(
        "base 64 for URLs in any other form is refused",
        arguments: ["Z", "Zg=", "Zh", "Z===", "Zg==Zg", "Zm9v\n", "Zm+/", "Zm=v"])
    func notURLSafe(_ text: String) {
        #expect(Base64.decodeURLSafe(text) == nil)
    }
}
