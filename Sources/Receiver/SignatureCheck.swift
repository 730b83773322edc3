public import Crypto

/// Whether callbacks were signed by who knows a secret: Standard Webhooks, `v1`.
public struct SignatureCheck: Sendable {
    public enum Verdict: Equatable, Sendable, CustomStringConvertible {
        case verified
        /// This header is missing or unreadable.
        case unsigned(String)
        /// Signed so many seconds from now, in either direction: it could be a replay.
        case stale(Int64)
        /// No signature fits any of the secrets.
        case forged

        public var description: String {
            switch self {
            case .verified: "verified"
            case .unsigned(let header): "UNSIGNED (no \(header))"
            case .stale(let seconds): "STALE (\(seconds) s)"
            case .forged: "FORGED"
            }
        }
    }

    private static let maxAgeSeconds: Int64 = 300
    private let secrets: [[UInt8]]

    /// - Parameter secrets: `whsec_…`; one that fits is enough.
    public init(secrets: [String]) throws(SecretTextError) {
        var parsed: [[UInt8]] = []
        for secret in secrets { parsed.append(try SecretText.parse(secret)) }
        self.secrets = parsed
    }

    /// - Parameter now: milliseconds since 1970.
    public func verdict(on request: ReceivedRequest, now: Int64) throws(CryptoError) -> Verdict {
        guard let id = request.header("webhook-id") else { return .unsigned("webhook-id") }
        guard let text = request.header("webhook-timestamp"), let sentAt = Int64(text), sentAt >= 0, sentAt < 1 << 40
        else { return .unsigned("webhook-timestamp") }
        guard let signatures = request.header("webhook-signature") else { return .unsigned("webhook-signature") }
        let signed = Array("\(id).\(text).".utf8) + request.body
        let given = signatures.split(separator: " ").filter { $0.hasPrefix("v1,") }
            .compactMap { Base64.decode($0.dropFirst(3)) }
        for secret in secrets {
            let hmac = try HMACSHA256(key: secret)
            hmac.update(signed)
            let expected = try hmac.finish()
            guard given.contains(where: { Self.areEqual($0, expected) }) else { continue }
            let age = now / 1000 - sentAt
            return abs(age) <= Self.maxAgeSeconds ? .verified : .stale(age)
        }
        return .forged
    }

    /// In a time that doesn't tell where they differ.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && zip(left, right).reduce(0) { $0 | $1.0 ^ $1.1 } == 0
    }
}
