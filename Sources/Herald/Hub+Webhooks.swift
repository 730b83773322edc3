public import HeraldCore
import HeraldCrypto

/// Why a webhook was not registered, changed or removed. Nothing was changed.
public enum WebhookError: Error, Sendable, CustomStringConvertible {
    /// The settings are not allowed: everything that is wrong, by the names of the HTTP API.
    case invalid([FieldError])
    /// Another webhook, `id`, has the URL already.
    case urlTaken(id: String)
    /// There are as many webhooks as there may be.
    case tooMany(limit: Int)
    /// There is no webhook with this id.
    case notFound(id: String)
    /// The hub can't write now.
    case refused(WriteRefusal)

    /// What was wrong, in words.
    public var description: String {
        switch self {
        case .invalid(let errors): InvalidInput(errors).description
        case .urlTaken(let id): "The webhook \(id) has this URL already, with other settings."
        case .tooMany(let limit): "There may be \(limit) webhooks. Remove some first."
        case .notFound(let id): "There is no webhook \(id)."
        case .refused(let refusal): refusal.description
        }
    }
}

extension Hub {
    /// The registered webhooks, newest first. Any thread.
    public var webhooks: [WebhookDelegate] { registry.list(.default) }

    /// Registers a webhook: Herald calls its URL for each event that it selects, until a call succeeds.
    ///
    /// A URL that is registered already with the same settings and secret is left alone, so that an app can register at each
    /// start.
    /// - Parameters:
    ///   - settings: what is called, and for which events.
    ///   - secret: signs the requests; keep it where the app can hand it to the receiver.
    ///   - position: the webhook gets the events after this position of the log; `nil`: those from now on.
    /// - Returns: the webhook as it is registered.
    /// - Throws: `WebhookError`.
    @discardableResult
    public func register(
        _ settings: WebhookSettings, secret: SigningSecret, after position: LogPosition? = nil
    ) async throws(WebhookError) -> WebhookDelegate {
        var registration = RegistryWrite.Registration(settings: settings, secret: secret)
        registration.isOwnSecret = true
        registration.start = position
        return try await one(.register(registration))
    }

    /// Changes the settings of a webhook. What waits for it is sent by the new settings.
    /// - Parameters:
    ///   - id: of the webhook.
    ///   - change: makes the new settings from the current ones; called on the thread that writes, must not wait.
    /// - Returns: the webhook as it is now.
    /// - Throws: `WebhookError`.
    @discardableResult
    public func updateWebhook(
        _ id: String, _ change: @escaping @Sendable (inout WebhookSettings) -> Void
    ) async throws(WebhookError) -> WebhookDelegate {
        try await one(.update(id: id, ifVersion: nil) { state, _ in change(&state.settings) })
    }

    /// Removes a webhook with all that waits for it.
    /// - Parameter id: of the webhook.
    /// - Throws: `WebhookError`.
    public func removeWebhook(_ id: String) async throws(WebhookError) {
        _ = try await one(.remove(id: id, ifVersion: nil))
    }

    /// - Returns: the webhook that was registered, changed or removed.
    private func one(_ action: RegistryWrite.Action) async throws(WebhookError) -> WebhookDelegate {
        let result = await withCheckedContinuation { continuation in
            change(RegistryWrite(action: action) { continuation.resume(returning: $0) })
        }
        let id =
            switch action {
            case .update(let id, _, _), .remove(let id, _): id
            case .register, .removeAll: ""
            }
        switch result {
        case .refused(.invalid(let errors)): throw .invalid(errors)
        case .refused(let refusal): throw .refused(refusal)
        case .replayed: throw .refused(.keyReused)  // only with an idempotency key, and there is none
        case .done(let outcome):
            switch outcome {
            case .registered(let webhook), .existed(let webhook), .updated(let webhook): return webhook
            case .removed(let webhooks):
                guard let webhook = webhooks.first else { throw .notFound(id: id) }
                return webhook
            case .conflict(let other): throw .urlTaken(id: other.id)
            case .tooMany(let limit): throw .tooMany(limit: limit)
            case .notFound, .versionMismatch: throw .notFound(id: id)  // no version was asked for
            case .invalid(let errors): throw .invalid(errors)
            }
        }
    }
}

extension SigningSecret {
    /// A new secret for HMAC-SHA256, of 32 random bytes.
    /// - Throws: an error when the machine has no randomness.
    public static func random() throws -> SigningSecret { SigningSecret(bytes: try SecretText.newSecret()) }

    /// Reads the text form of Standard Webhooks, `whsec_…`: a secret for HMAC-SHA256.
    /// - Parameter text: `whsec_` and base64 of 24 to 64 bytes.
    /// - Throws: an error whose description says what is wrong, without the text.
    public init(text: String) throws { self.init(bytes: try SecretText.parse(text)) }

    /// The text form of Standard Webhooks, which a receiver of `v1` needs: `whsec_…`. Of `v1a`, the private key `whsk_…`.
    public var text: String {
        switch scheme {
        case .v1: SecretText.print(bytes)
        case .v1a: (try? Ed25519.PrivateKey(seed: bytes).text) ?? ""
        }
    }
}
