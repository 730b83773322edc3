/// A key that signs callbacks. Prints as `***`, so that it can't reach a log by accident.
public struct SigningSecret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of key: of a signature, as named by Standard Webhooks, or a text.
    public enum Scheme: String, Sendable, CaseIterable {
        /// HMAC-SHA256; the key has 24–64 bytes.
        case v1
        /// Ed25519; the key is the seed of 32 bytes.
        case v1a
        /// No signature of Standard Webhooks: a text of 16 to 128 visible ASCII characters, for a scheme of the setting
        /// `request`, such as GitHub's.
        case text
    }

    /// The kind of signature.
    public let scheme: Scheme
    /// The key itself.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - scheme: the kind of signature.
    ///   - bytes: 24 to 64 bytes for `v1`, 32 for `v1a`, 16 to 128 for `text`. The hub validates them at the registration.
    package init(_ scheme: Scheme = .v1, bytes: [UInt8]) {
        self.scheme = scheme
        self.bytes = bytes
    }

    /// Why the key is invalid.
    var problem: String? {
        switch scheme {
        case .v1: (24...64).contains(bytes.count) ? nil : "must be 24 to 64 bytes, but is \(bytes.count)"
        case .v1a: bytes.count == 32 ? nil : "must be a seed of 32 bytes, but is \(bytes.count)"
        case .text:
            (16...128).contains(bytes.count) && bytes.allSatisfy({ (0x21...0x7e).contains($0) })
                ? nil : "must be a text of 16 to 128 visible ASCII characters without spaces"
        }
    }

    /// `***`
    public var description: String { "***" }
    /// Empty, so that `dump` shows no key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A secret of a delegate, and its expiration.
package struct DelegateSecret: Equatable, Sendable {
    package let secret: SigningSecret
    /// Milliseconds since 1970 UTC; `nil` until it is replaced.
    package let expiresAt: Int64?

    package init(_ secret: SigningSecret, expiresAt: Int64? = nil) {
        self.secret = secret
        self.expiresAt = expiresAt
    }

    package func isValid(at time: Int64) -> Bool { expiresAt.map { time < $0 } ?? true }
}
