import HeraldCore
import HeraldJSON
import HeraldModel
import Testing

@testable import HeraldAPI

@Suite("Rotation of a secret")
struct SecretRotationTests {
    private func state(_ secrets: DelegateSecret...) -> WebhookDelegate.State {
        WebhookDelegate.State(settings: WebhookSettings(url: "http://a/"), secrets: secrets)
    }

    private func secret(_ byte: UInt8) -> SigningSecret { SigningSecret(bytes: Array(repeating: byte, count: 32)) }

    private func rotated(
        _ old: WebhookDelegate.State, _ text: String = "{}", now: Int64 = 1_000
    ) throws -> WebhookDelegate.State {
        var state = old
        try SecretRotation(JSONDocument(parsing: text)).rotate(&state, now: now)
        return state
    }

    @Test("the old secret signs during the overlap, by default a day")
    func overlap() throws {
        let old = state(DelegateSecret(secret(1)))
        let day = try rotated(old)
        #expect(day.secrets.count == 2)
        #expect(day.secrets[0].expiresAt == nil && day.secrets[0].secret != secret(1))
        #expect(day.secrets[1] == DelegateSecret(secret(1), expiresAt: 86_401_000))
        #expect(try rotated(old, #"{"overlap_seconds": 60}"#).secrets[1].expiresAt == 61_000)
    }

    @Test("without an overlap the old secret stops at once")
    func noOverlap() throws {
        let state = try rotated(state(DelegateSecret(secret(1))), #"{"overlap_seconds": 0}"#)
        #expect(state.secrets.count == 1)
        #expect(state.secrets[0].secret != secret(1))
    }

    @Test("expired secrets are dropped, and later expirations stay")
    func expiry() throws {
        let old = state(
            DelegateSecret(secret(3)), DelegateSecret(secret(2), expiresAt: 5_000),
            DelegateSecret(secret(1), expiresAt: 1_000))
        let secrets = try rotated(old, #"{"overlap_seconds": 10}"#).secrets
        #expect(
            Array(secrets.dropFirst())
                == [DelegateSecret(secret(3), expiresAt: 11_000), DelegateSecret(secret(2), expiresAt: 5_000)])
    }

    @Test("at most five sign at once")
    func limit() throws {
        let older = (1...4).map { DelegateSecret(secret($0), expiresAt: 9_000) }
        var full = state(DelegateSecret(secret(9)))
        full.secrets += older
        #expect(throws: FieldErrors.self) { try rotated(full) }
        #expect(try rotated(full, #"{"overlap_seconds": 0}"#).secrets.count == 5)
        #expect(try rotated(full, now: 9_000).secrets.count == 2)
    }

    @Test("the kind of signature stays, unless another one is requested")
    func signature() throws {
        #expect(try rotated(state(DelegateSecret(secret(1)))).secrets[0].secret.scheme == .v1)
        let asymmetric = try rotated(state(DelegateSecret(secret(1))), #"{"signature": "v1a"}"#)
        #expect(asymmetric.secrets.map(\.secret.scheme) == [.v1a, .v1])
        #expect(try rotated(asymmetric).secrets.map(\.secret.scheme) == [.v1a, .v1a, .v1])
    }

    @Test("an existing secret of the client becomes the only one of its kind")
    func same() throws {
        let text = #"{"secret": "\#(secret(1).text)"}"#
        #expect(try rotated(state(DelegateSecret(secret(1))), text).secrets == [DelegateSecret(secret(1))])
    }
}
