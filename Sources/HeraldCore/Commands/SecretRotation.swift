package import HeraldModel

/// A rotation: a new key for a webhook, while the old one also signs for the overlap, so that the receiver can be
/// updated.
package struct SecretRotation: Sendable {
    /// The maximum number of keys that sign at the same time.
    package static let maxValid = 5
    /// How long the old key may still sign: up to a week.
    package static let overlaps: ClosedRange<Int64> = 0...604_800
    package static let defaultOverlap: Int64 = 86_400

    private let overlapSeconds: Int64
    /// The key that the owner of the webhook has chosen.
    private let brought: SigningSecret?
    /// The kind of signature; `nil` for that of the present key.
    private let scheme: SigningSecret.Scheme?
    /// For a key that is created here.
    private let newBytes: [UInt8]

    /// - Parameter newBytes: 32 random bytes.
    package init(
        overlapSeconds: Int64, _ brought: SigningSecret?, scheme: SigningSecret.Scheme?, newBytes: [UInt8]
    ) {
        self.overlapSeconds = overlapSeconds
        self.brought = brought
        self.scheme = scheme ?? brought?.scheme
        self.newBytes = newBytes
    }

    /// The default overlap, to a key that the owner of the webhook has chosen.
    init(_ brought: SigningSecret) {
        self.init(overlapSeconds: Self.defaultOverlap, brought, scheme: nil, newBytes: [])
    }

    /// - Parameter now: milliseconds since 1970 UTC.
    package func rotate(
        _ state: inout WebhookDelegate.State, now: Int64
    ) throws(FieldErrors) {
        guard Self.overlaps.contains(overlapSeconds) else {
            throw FieldErrors([.integer("/overlap_seconds", Self.overlaps)])
        }
        let scheme = scheme ?? state.secrets.first?.secret.scheme ?? .v1
        let secret = brought ?? SigningSecret(scheme, random: newBytes)
        let end = now + overlapSeconds * 1000
        let older = state.secrets.compactMap { old -> DelegateSecret? in
            guard old.secret != secret, old.isValid(at: now) else { return nil }
            let kept = old.expiresAt == nil ? DelegateSecret(old.secret, expiresAt: end) : old
            return kept.isValid(at: now) ? kept : nil
        }
        guard older.count < Self.maxValid else {
            throw FieldErrors([
                FieldError(
                    "/overlap_seconds",
                    "would let more than \(Self.maxValid) secrets sign at once: wait until an older one has expired, or "
                        + "say 0, which ends the present one now")
            ])
        }
        state.secrets = [DelegateSecret(secret)] + older
    }
}
