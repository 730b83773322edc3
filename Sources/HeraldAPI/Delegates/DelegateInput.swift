import HeraldCore
import HeraldJSON
import HeraldModel

/// Parses a registration of a webhook, or a merge patch (RFC 7396). Reports all errors.
struct DelegateInput {
    static let patchFields = WebhookField.all.map(\.name)
    /// The fields of a registration that a patch can't contain.
    static let firstFields = ["start", "replay_current_state", "secret", "signature"]
    static let fields = patchFields + firstFields

    var reader = FieldReader()

    // MARK: Registrations

    struct Registration: Sendable {
        let settings: WebhookSettings
        let secret: SecretInput
        let start: PositionInput
        let replaysCurrentState: Bool

        /// Whether the secret is used: a delegate of kind pull gets no callbacks.
        var isSigned: Bool { settings.kind == .webhook }

        /// The secret that was given, or a new one.
        func key() throws(Problem) -> SigningSecret {
            if let brought = secret.brought { return brought }
            return SigningSecret(
                secret.scheme ?? settings.request?.keyScheme ?? .v1, random: try SecretInput.newBytes())
        }
    }

    /// - Throws: 422 with all invalid fields.
    static func registration(
        _ document: JSONDocument, _ rules: WebhookRules
    ) throws(Problem) -> Registration {
        var input = DelegateInput(reader: FieldReader(document, fields: fields))
        var settings = WebhookSettings(url: "")
        for (key, value) in document.root.members { input.read(key, value, into: &settings) }
        if settings.kind == .webhook, document["url"] == nil {
            input.reader.wrong("/url", "is required: where to send the callbacks")
        }
        if settings.kind == .pull {
            for name in ["secret", "signature", "replay_current_state"] where document.nonNull(name) != nil {
                input.reader.wrong("/\(name)", "is no setting of a delegate of kind pull")
            }
        }
        input.reader.add(rules.problems(of: &settings))
        let secret = SecretInput(&input.reader)
        let words = "\"now\", \"earliest\", \(PositionInput.words)"
        let start = input.reader.member("start") { $0.place($1, $2, words: words) }
        let replays = input.reader.member("replay_current_state") { $0.flag($1, $2) }
        if let problem = secret.brought?.problem(for: settings) { input.reader.wrong("/secret", problem) }
        try input.reader.check()
        return Registration(
            settings: settings, secret: secret, start: start ?? .now, replaysCurrentState: replays ?? false)
    }

    // MARK: Patches

    /// A change that is applied to the current delegate in the transaction. `now`: milliseconds since 1970 UTC.
    typealias Change =
        @Sendable (_ state: inout WebhookDelegate.State, _ now: Int64) throws(FieldErrors) -> Void

    /// - Throws: 422 with all invalid fields.
    static func patch(_ document: JSONDocument, _ rules: WebhookRules) throws(Problem) -> Change {
        var input = DelegateInput()
        let unknown = document.errors(unlessObjectOf: patchFields)
        input.reader.wrong(
            unknown.map { error in insteadOfPatching[error.pointer].map { FieldError(error.pointer, $0) } ?? error })
        var probe = WebhookSettings(url: "")
        // A recipe is merged into the one of before, which has the secrets.
        for (key, value) in document.root.members where key != "request" { input.read(key, value, into: &probe) }
        input.reader.add(WebhookRules.limitProblems(of: probe))
        try input.reader.check()
        return { state, now throws(FieldErrors) in
            var input = DelegateInput()
            let old = state.settings
            for (key, value) in document.root.members { input.read(key, value, into: &state.settings) }
            if state.settings.kind != old.kind { throw FieldErrors([WebhookRules.kindHasChanged]) }
            // Existing settings may be older than a rule. A patch that changes none may renew the lease.
            if state.settings != old || !state.settings.hasSubjects(of: old) {
                input.reader.add(rules.problems(of: &state.settings))
            }
            // Merged with the existing entries, the limit may be exceeded.
            if !input.reader.errors.isEmpty { throw FieldErrors(input.reader.errors) }
            if document["lease_seconds"] != nil { state.apply(.leaseRenewed, now: now) }
        }
    }

    private static let insteadOfPatching = [
        "/start":
            "can't be changed: it only says where a new delegate begins. POST /v1/delegates/{id}/replay sends past "
            + "events again",
        "/replay_current_state": "can't be changed: it only applies to a new delegate",
        "/secret": "can't be changed here: POST /v1/delegates/{id}/secret/rotate replaces it, with an overlap",
        "/signature": "can't be changed here: POST /v1/delegates/{id}/secret/rotate makes a key for another signature",
    ]
}
