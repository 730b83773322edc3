import HeraldCore

extension Event {
    convenience init(
        _ type: String, id: String = "evt", subject: String? = nil, data: String = "{}", app: AppKey = .default
    ) {
        self.init(app: app, id: id, type: type, subject: subject, time: 1_760_000_000_000, data: Array(data.utf8))
    }
}

extension WebhookSettings {
    static func made(_ url: String = "https://receiver.example/", _ change: (inout WebhookSettings) -> Void = { _ in })
        -> WebhookSettings
    {
        var settings = WebhookSettings(url: url)
        change(&settings)
        return settings
    }
}

extension WebhookDelegate {
    convenience init(
        _ key: DelegateKey, start: LogPosition = 0, status: Status = .active, version: Int64 = 1,
        app: AppKey = .default,
        _ change: (inout WebhookSettings) -> Void = { _ in }
    ) {
        self.init(
            app: app, key: key, id: "dlg_\(key)",
            state: State(
                settings: .made("https://receiver.example/\(key)", change), status: status,
                secrets: [DelegateSecret(.test)]),
            start: start, createdAt: 0, updatedAt: 0, version: version)
    }
}

extension SigningSecret {
    static let test = SigningSecret(bytes: Array(0..<32))
}

extension CallbackOutcome {
    static let success = CallbackOutcome.answered(200)
    static let failure = CallbackOutcome.answered(500)
}
