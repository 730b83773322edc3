package import HeraldCrypto

/// Verifies the signatures of callbacks: Standard Webhooks, `v1` (HMAC-SHA256) and `v1a` (Ed25519).
package struct SignatureCheck: Sendable {
    package enum Verdict: Equatable, Sendable, CustomStringConvertible {
        case verified
        /// This header is missing or malformed.
        case unsigned(String)
        /// The age of the signature in seconds, negative if it is in the future: it could be a replay.
        case stale(Int64)
        /// No signature matches any of the keys.
        case forged

        package var description: String {
            switch self {
            case .verified: "verified"
            case .unsigned(let header): "UNSIGNED (no \(header))"
            case .stale(let seconds): "STALE (\(seconds) s)"
            case .forged: "FORGED"
            }
        }
    }

    private enum Key {
        case secret([UInt8])
        case publicKey(Ed25519.PublicKey)
    }

    private static let maxAgeSeconds: Int64 = 300
    private let keys: [Key]

    /// - Parameter keys: `whsec_…` and `whpk_…`; one matching key is enough.
    package init(keys: [String]) throws(SignatureKeyError) {
        var parsed: [Key] = []
        for text in keys { parsed.append(try Self.key(text)) }
        self.keys = parsed
    }

    /// - Parameter now: milliseconds since 1970.
    package func verdict(on request: ReceivedRequest, now: Int64) throws(CryptoError) -> Verdict {
        try verdict(on: request.body, now: now) { request.header($0) }
    }

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - header: the value of the header with this name, in lower case.
    package func verdict(
        on body: [UInt8], now: Int64, header: (String) -> String?
    ) throws(CryptoError) -> Verdict {
        guard let id = header("webhook-id") else { return .unsigned("webhook-id") }
        guard let text = header("webhook-timestamp"), let sentAt = Int64(text), (0..<1 << 40).contains(sentAt)
        else { return .unsigned("webhook-timestamp") }
        guard let signatures = header("webhook-signature") else { return .unsigned("webhook-signature") }
        let signed = Array("\(id).\(text).".utf8) + body
        for signature in signatures.split(separator: " ") {
            guard try fits(signature, signed) else { continue }
            let age = now / 1000 - sentAt
            return abs(age) <= Self.maxAgeSeconds ? .verified : .stale(age)
        }
        return .forged
    }

    /// Whether it was made with one of the keys.
    private func fits(_ signature: Substring, _ signed: [UInt8]) throws(CryptoError) -> Bool {
        let parts = signature.split(separator: ",", maxSplits: 1)
        guard parts.count == 2, let bytes = Base64.decode(parts[1]) else { return false }
        for key in keys {
            switch (parts[0], key) {
            case ("v1", .secret(let secret)):
                let hmac = try HMAC(key: secret)
                hmac.update(signed)
                if isEqualInConstantTime(bytes, try hmac.finish()) { return true }
            case ("v1a", .publicKey(let key)):
                if key.verifies(bytes, of: signed) { return true }
            default:
                break
            }
        }
        return false
    }

    private static func key(_ text: String) throws(SignatureKeyError) -> Key {
        if text.hasPrefix(Ed25519.PublicKey.prefix) {
            do throws(Ed25519TextError) {
                return .publicKey(try Ed25519.PublicKey(text: text))
            } catch {
                throw SignatureKeyError(description: "The public key \(error).")
            }
        }
        do throws(SecretTextError) {
            return .secret(try SecretText.parse(text))
        } catch .noPrefix {
            throw SignatureKeyError(
                description: "A key must begin with \(SecretText.prefix) or \(Ed25519.PublicKey.prefix).")
        } catch {
            throw SignatureKeyError(description: "The secret \(error).")
        }
    }
}

/// Why a key is invalid. Never quotes it.
package struct SignatureKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}
