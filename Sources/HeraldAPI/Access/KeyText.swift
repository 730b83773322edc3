package import HeraldCrypto

/// The text of an access key: `hrld_`, the 26 characters of its id, `_`, and 32 random characters (160 bits).
///
/// The id identifies the key; the digest of the whole text authenticates it.
package struct KeyText: Sendable {
    package static let prefix = "hrld_"
    private static let nameBytes = 26
    private static let randomByteCount = 20
    /// Longer texts are refused unread.
    static let maxBytes = 255

    package let text: String
    package let id: String

    /// A new text.
    /// - Parameter id: `key_` and a ULID.
    package init(id: String) throws(CryptoError) {
        self.id = id
        text = Self.prefix + id.dropFirst(4) + "_" + Self.base32(try randomBytes(Self.randomByteCount))
    }

    package var digest: [UInt8] { SHA256.hash(Array(text.utf8)) }

    /// The id of a text with the form of a key; `nil` if it has another form.
    static func name(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let rest = text.dropFirst(prefix.utf8.count)
        guard text.starts(with: prefix.utf8), rest.count > nameBytes,
            rest[rest.startIndex + nameBytes] == UInt8(ascii: "_")
        else { return nil }
        return rest.prefix(nameBytes)
    }

    /// Crockford's alphabet, as in ids: a double click selects the whole text.
    private static func base32(_ bytes: [UInt8]) -> String {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
