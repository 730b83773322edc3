import HeraldCore
import HeraldTestSupport
import Testing

@testable import HeraldPostgres

@Suite("What is PostgreSQL's alone")
struct PostgresStoreTests {
    @Test("texts with U+0000 are kept")
    func zero() throws {
        for text in ["", "a", "a\0b", "\u{10FFFF}", "\u{10FFFF}0", "\0\u{10FFFF}\0", "\u{10FFFE}x"] {
            var bytes: [UInt8] = []
            StoredText.write(text, to: &bytes)
            #expect(!bytes.contains(0))
            #expect(String(decoding: bytes.withUnsafeBytes { StoredText.read($0) }, as: UTF8.self) == text)
        }
    }
}
