import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// The request that would be made for an event. It is sent nowhere.
struct PreviewEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates/preview", needs: .manage, takesQuery: true, previewNew),
            Route(.post, "/v1/delegates/{id}/preview", needs: .manage, takesQuery: true, preview),
        ]
    }

    /// For settings that no delegate has yet.
    private func previewNew(_ call: Call) throws(Problem) {
        let sample = try SampleEvent(call)
        let input = try DelegateInput.registration(call.json(), hub.rules)
        guard input.settings.kind.allows(.preview) else {
            throw .invalid([FieldError("/kind", "must be webhook: only a webhook makes requests")])
        }
        let secret = try input.key()
        if let problem = secret.problem(for: input.settings) { throw .invalid([FieldError("/secret", problem)]) }
        let now = hub.clock.wall()
        let delegate = WebhookDelegate(
            app: call.app, key: DelegateKey(0), id: "dlg_preview",
            state: .init(settings: input.settings, secrets: [DelegateSecret(secret)]), start: 0, createdAt: now,
            updatedAt: now, version: 1)
        try answer(call, delegate, sample)
    }

    private func preview(_ call: Call) throws(Problem) {
        let sample = try SampleEvent(call)
        let delegate = try call.webhook(in: hub, for: .preview)
        guard !call.request.body.isEmpty else { return try answer(call, delegate, sample) }
        try answer(call, changed(delegate, DelegateInput.patch(call.json(), hub.rules)), sample)
    }

    /// The delegate as it would be after a change.
    private func changed(
        _ delegate: WebhookDelegate, _ change: DelegateInput.Change
    ) throws(Problem) -> WebhookDelegate {
        var state = delegate.state
        do throws(FieldErrors) {
            try hub.rules.apply(change, to: &state, now: hub.clock.wall())
        } catch {
            throw .invalid(error.errors)
        }
        return delegate.observed(state)
    }

    private func answer(_ call: Call, _ delegate: WebhookDelegate, _ sample: SampleEvent) throws(Problem) {
        try call.answer(from: hub) { reader in
            let event = try sample.event(call.app, hub, reader)
            switch hub.preview(delegate, event) {
            case .notMade(let error): throw Problem.invalid([error])
            case .request(let request):
                call.send { json in
                    json.member("method", request.method)
                    json.member("url", request.url)
                    json.object("headers") { for header in request.headers { $0.member(header.key, header.value) } }
                    json.member("body", String(decoding: request.body, as: UTF8.self))
                }
            }
        }
    }
}
