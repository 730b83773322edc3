/// A public Ed25519 key as an entry of a JSON Web Key Set (RFC 7517, RFC 8037).
package struct JSONWebKey: Equatable, Sendable {
    package static let mediaType = "application/jwk-set+json"

    /// The key in base64url.
    package let x: String
    /// `kid`: the thumbprint of RFC 7638.
    package let keyID: String

    package init(_ key: Ed25519.PublicKey) {
        x = Base64.encodeURLSafe(key.bytes)
        // The members of the key, in alphabetical order and without spaces, as RFC 7638 requires.
        keyID = Base64.encodeURLSafe(SHA256.hash(Array(#"{"crv":"Ed25519","kty":"OKP","x":"\#(x)"}"#.utf8)))
    }

    /// Names and values for a JSON writer; all values are strings.
    package var members: [(name: String, value: String)] {
        [("kty", "OKP"), ("crv", "Ed25519"), ("x", x), ("kid", keyID), ("use", "sig"), ("alg", "EdDSA")]
    }
}
