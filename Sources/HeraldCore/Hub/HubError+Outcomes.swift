package import HeraldModel

extension RegistryWrite.Outcome {
    /// The webhook that was registered or changed, or is there already; those that were removed.
    /// - Parameter id: of the webhook that the request names.
    /// - Throws: why nothing was changed.
    package func webhooks(_ id: String) throws(HubError) -> [WebhookDelegate] {
        switch self {
        case .registered(let webhook), .existed(let webhook), .updated(let webhook): return [webhook]
        case .removed(let webhooks): return webhooks
        case .conflict(let other): throw .urlTaken(id: other.id)
        case .tooMany(let limit):
            throw .tooMany("This app may have \(limit) webhooks and pull delegates. Remove some first.")
        case .tooManyOfURL(let limit): throw .tooMany("A URL may have \(limit) webhooks. Remove some first.")
        case .tooManyPulls(let limit): throw .tooMany("An app may have \(limit) pull delegates. Remove some first.")
        case .notFound: throw .noDelegate(id)
        case .versionMismatch: throw .hasChanged
        case .invalid(let errors): throw .invalid(errors)
        }
    }
}

extension Hub {
    /// The webhook or pull delegate with this id.
    /// - Parameter action: what is to be done with it.
    /// - Throws: `.wrongKind` if its kind has no such action.
    package func webhook(
        _ id: String, of app: AppKey, for action: DelegateKind.Action? = nil
    ) throws(HubError) -> WebhookDelegate {
        guard let delegate = committed.registry.delegate(app, id: id) else { throw .noDelegate(id) }
        if let action, !delegate.settings.kind.allows(action) { throw .wrongKind(id, delegate.settings.kind) }
        return delegate
    }

    /// Checks an action before its dry run: it is refused as the action itself.
    package func check(_ action: DeliveryWrite.Action, of app: AppKey) throws(HubError) {
        if let refusal = action.refusal(app, committed.registry) { throw refusal }
    }

    /// A webhook that may be called with a test event: before its owner has agreed, an address gets only the handshake or
    /// the challenge.
    package func testableWebhook(_ id: String, of app: AppKey) throws(HubError) -> WebhookDelegate {
        let delegate = try webhook(id, of: app, for: .test)
        if delegate.status == .pendingVerification { throw .unverified(id: id) }
        return delegate
    }
}
