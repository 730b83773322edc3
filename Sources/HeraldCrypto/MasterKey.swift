/// The key that encrypts stored secrets: 32 bytes that only the operator has. Prints as `***`.
package struct MasterKey: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let byteCount = 32

    let bytes: [UInt8]
    /// Identifies the key without revealing it: the start of its SHA-256, stored with each encrypted value.
    package let id: [UInt8]

    static let idByteCount = 8

    package init(bytes: [UInt8]) throws(MasterKeyError) {
        guard bytes.count == Self.byteCount else { throw .wrongLength(bytes.count) }
        self.bytes = bytes
        id = Array(SHA256.hash(bytes).prefix(Self.idByteCount))
    }

    /// Parses base 64 in either alphabet, with or without padding. The error never quotes the text.
    package init(text: String) throws(MasterKeyError) {
        guard let bytes = Base64.decode(text) ?? Base64.decode(text + "=") ?? Base64.decodeURLSafe(text) else {
            throw .notBase64
        }
        try self.init(bytes: bytes)
    }

    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

package enum MasterKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    case notBase64
    case wrongLength(Int)

    package var description: String {
        switch self {
        case .notBase64: "must be base64 of 32 random bytes, as `openssl rand -base64 32` prints them"
        case .wrongLength(let count): "must hold 32 bytes, but holds \(count): `openssl rand -base64 32` makes a key"
        }
    }
}
