import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Portal links: a link opens the dashboard of one app.
struct PortalEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl

    var routes: [Route] { [Route(.post, "/v1/portal-links", needs: .admin, make)] }

    private static let seconds: ClosedRange<Int64> = 60...604_800
    private static let standardSeconds = 3_600

    private func make(_ call: Call) throws(Problem) {
        let (app, seconds) = try read(call)
        try open(call, app, seconds) { token, end in
            call.send(status: 201) {
                $0.member("url", url(of: token, app, call))
                $0.member("app", hub.committed.apps[app]?.id)
                $0.member("expires_at", .timestamp(end))
            }
        }
    }

    /// The page of an app has a policy of its own.
    func url(of token: String, _ app: AppKey, _ call: Call) -> String {
        "\(call.publicURL.base)/?portal=\(hub.committed.apps[app]?.id ?? "")#/portal/\(token)"
    }

    /// Opens a link, and responds with its token and its end.
    func open(
        _ call: Call, _ app: AppKey, _ seconds: Int, _ answer: @escaping @Sendable (String, Int64) -> Void
    ) throws(Problem) {
        // At most until the key of the request expires.
        let end = min(hub.clock.wall() + Int64(seconds) * 1000, call.principal.expiresAt ?? .max)
        let (token, session) = try access.new(.link, to: app, by: call.principal, until: end)
        call.begin(hub)?.submit(
            AccessWrite(app: app, action: .open(session), provenance: call.provenance) { result in
                switch result {
                case .done(.noted): answer(token, end)
                case .done(.tooManyLinks):
                    call.send(.tooMany("The app has too many links that have not ended. Wait for some to end."))
                case .refused(let refusal): call.send(Problem(refusal))
                case .done, .replayed:
                    call.send(Problem.notFound("The app was deleted, or the key was revoked, during the request."))
                }
            })
    }

    private func read(_ call: Call) throws(Problem) -> (app: AppKey, seconds: Int) {
        var reader = try FieldReader(call.json(), fields: ["app", "expires_in"])
        let app = reader.member("app") { $0.app($1, $2, hub.committed.apps) }
        let seconds = reader.member("expires_in") { $0.integer($1, $2, Self.seconds) }
        try reader.check()
        return (app ?? call.app, seconds ?? Self.standardSeconds)
    }
}
