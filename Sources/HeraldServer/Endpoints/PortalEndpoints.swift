import Crypto
import HTTPServer
import Herald
import JSON
import Runtime

/// Links for the people of an app: whoever follows one sees the dashboard of that app and nothing else.
struct PortalEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl

    var routes: [Route] { [Route(.post, "/v1/portal-links", needs: .admin, make)] }

    private func make(_ call: Call) throws(Problem) {
        _ = try call.query()
        let (app, seconds) = try read(call)
        let end = hub.clock.wall() + Int64(seconds) * 1000
        let token = try token(for: app, until: end)
        // What nobody has noted, nobody gets: the link is good only for whoever sees this answer.
        hub.administer(
            AccessWrite(app: app, action: .makeLink, provenance: call.provenance) { result in
                guard case .done(.noted) = result else {
                    if case .refused(let refusal) = result { return call.send(Problem(refusal)) }
                    return call.send(Problem.notFound("The app was deleted meanwhile."))
                }
                call.send(status: 201) {
                    $0.member("url", "/#/portal/\(token)")
                    $0.member("app", hub.apps[app]?.id)
                    $0.member("expires_at", .timestamp(end))
                }
            })
    }

    private func token(for app: AppKey, until end: Int64) throws(Problem) -> String {
        let token: String?
        do throws(CryptoError) {
            token = try access.portalLinks.make(for: app, until: end)
        } catch {
            throw .noRandomness
        }
        guard let token else {
            throw .tooMany("There are \(PortalLinks.limit) links that have not ended. Wait for some to end.")
        }
        return token
    }

    private func read(_ call: Call) throws(Problem) -> (app: AppKey, seconds: Int) {
        let document = try call.json()
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: ["app", "expires_in"]))
        var app = call.app
        if let value = document["app"], !value.isNull { app = reader.app(value, "/app", hub.apps) ?? app }
        var seconds = PortalLinks.standardSeconds
        if let value = document["expires_in"], !value.isNull {
            let range = PortalLinks.seconds
            seconds = reader.integer(value, "/expires_in", Int64(range.lowerBound)...Int64(range.upperBound))
        }
        try reader.check()
        return (app, seconds)
    }
}
