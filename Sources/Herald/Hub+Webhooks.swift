public import HeraldCore
import HeraldCrypto

/// Why a webhook was not registered, changed or removed. Nothing was changed.
public enum WebhookError: Error, Sendable, CustomStringConvertible {
    /// The settings are invalid: all errors, with the field names of the HTTP API.
    case invalid([FieldError])
    /// Another webhook, `id`, already has the URL.
    case urlTaken(id: String)
    /// The maximum number of webhooks is reached.
    case tooMany(limit: Int)
    /// There is no webhook with this id.
    case notFound(id: String)
    /// The hub can't write at present.
    case refused(WriteRefusal)

    /// A description of the error.
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
    /// The registered webhooks, newest first. Can be called on any thread.
    public var webhooks: [WebhookDelegate] { registry.list(.default) }

    /// Registers a webhook: Herald calls its URL for each selected event, until a call succeeds.
    ///
    /// A URL that is already registered with the same settings and secret is left unchanged, so an app can register at
    /// each start.
    /// - Parameters:
    ///   - settings: the URL, the selected events and how to send them.
    ///   - secret: signs the requests; keep it so that the app can give it to the receiver.
    ///   - position: start after this position of the log; `nil` for events published from now on.
    /// - Returns: the registered webhook.
    /// - Throws: `WebhookError`.
    @discardableResult
    public func register(
        _ settings: WebhookSettings, secret: SigningSecret, after position: EventPosition? = nil
    ) async throws(WebhookError) -> WebhookDelegate {
        var registration = RegistryWrite.Registration(settings: settings, secret: secret)
        registration.isOwnSecret = true
        registration.start = position?.number
        return try await one(.register(registration))
    }

    /// Changes the settings of a webhook. Waiting deliveries use the new settings.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - change: computes the new settings from the current ones; called on the writer's thread, must not wait.
    /// - Returns: the changed webhook.
    /// - Throws: `WebhookError`.
    @discardableResult
    public func updateWebhook(
        _ id: String, _ change: @escaping @Sendable (inout WebhookSettings) -> Void
    ) async throws(WebhookError) -> WebhookDelegate {
        try await one(.update(id: id, ifVersion: nil) { state, _ in change(&state.settings) })
    }

    /// Removes a webhook and its waiting deliveries.
    /// - Parameter id: the id of the webhook.
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
        case .replayed: throw .refused(.keyReused)  // impossible without an idempotency key
        case .done(let outcome):
            switch outcome {
            case .registered(let webhook), .existed(let webhook), .updated(let webhook): return webhook
            case .removed(let webhooks):
                guard let webhook = webhooks.first else { throw .notFound(id: id) }
                return webhook
            case .conflict(let other): throw .urlTaken(id: other.id)
            case .tooMany(let limit): throw .tooMany(limit: limit)
            case .notFound, .versionMismatch: throw .notFound(id: id)  // a mismatch is impossible without a version
            case .invalid(let errors): throw .invalid(errors)
            }
        }
    }
}

extension SigningSecret {
    /// A new secret for HMAC-SHA256, of 32 random bytes.
    /// - Throws: an error if the system provides no random bytes.
    public static func random() throws -> SigningSecret { SigningSecret(bytes: try SecretText.newSecret()) }

    /// Parses the text form of Standard Webhooks, `whsec_…`: a secret for HMAC-SHA256.
    /// - Parameter text: `whsec_` and the base64 of 24 to 64 bytes.
    /// - Throws: an error whose description says what is wrong, without the text.
    public init(text: String) throws { self.init(bytes: try SecretText.parse(text)) }

    /// The text form of Standard Webhooks: `whsec_…` for `v1`, which the receiver needs; for `v1a` the private key,
    /// `whsk_…`.
    public var text: String {
        switch scheme {
        case .v1: SecretText.print(bytes)
        case .v1a: (try? Ed25519.PrivateKey(seed: bytes).text) ?? ""
        }
    }
}
