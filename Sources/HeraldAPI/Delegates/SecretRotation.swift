import HeraldCore
import HeraldJSON

/// A rotation: a new key for a webhook, while the old one also signs for the overlap, so that the receiver can be
/// updated.
struct SecretRotation: Sendable {
    /// The maximum number of keys that sign at the same time.
    static let maxValid = 5
    private static let fields = ["overlap_seconds", "secret", "signature"]

    /// How long the old key still signs.
    let overlapSeconds: Int
    private let input: SecretInput
    /// For a key that is created here.
    private let newBytes: [UInt8]

    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: Self.fields))
        var overlap = 86_400
        if let value = document["overlap_seconds"], !value.isNull {
            overlap = reader.integer(value, "/overlap_seconds", 0...604_800)
        }
        overlapSeconds = overlap
        input = SecretInput(document, &reader)
        try reader.check()
        newBytes = try SecretInput.newBytes()
    }

    /// - Parameter now: milliseconds since 1970 UTC.
    func rotate(_ state: inout WebhookDelegate.State, now: Int64) throws(RegistryWrite.InvalidSettings) {
        let scheme = input.scheme ?? state.secrets.first?.secret.scheme ?? .v1
        let secret = input.brought ?? SigningSecret(scheme, bytes: newBytes)
        let end = now + Int64(overlapSeconds) * 1000
        let older = state.secrets.compactMap { old -> DelegateSecret? in
            guard old.secret != secret, old.isValid(at: now) else { return nil }
            let kept = old.expiresAt == nil ? DelegateSecret(old.secret, expiresAt: end) : old
            return kept.isValid(at: now) ? kept : nil
        }
        guard older.count < Self.maxValid else {
            throw RegistryWrite.InvalidSettings([
                FieldError(
                    "/overlap_seconds",
                    "would let more than \(Self.maxValid) secrets sign at once: wait until an older one has expired, or "
                        + "say 0, which ends the present one now")
            ])
        }
        state.secrets = [DelegateSecret(secret)] + older
    }
}
