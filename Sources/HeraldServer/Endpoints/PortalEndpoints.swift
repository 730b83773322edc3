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
        do throws(CryptoError) {
            guard let token = try access.portalLinks.make(for: app, until: end) else {
                return call.send(
                    Problem.tooMany("There are \(PortalLinks.limit) links that have not ended. Wait for some to end."))
            }
            call.send(status: 201) {
                $0.member("url", "/#/portal/\(token)")
                $0.member("app", hub.apps[app]?.id)
                $0.member("expires_at", .timestamp(end))
            }
        } catch {
            throw .noRandomness
        }
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
