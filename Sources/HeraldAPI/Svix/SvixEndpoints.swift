import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// The operations of Svix's open-source server (https://api.svix.com/docs) below `/api/v1`, as far as Herald has a counterpart.
///
/// Svix's SDKs work unchanged with a key of Herald as their token. A handler translates the request into Herald's own input, and
/// submits the write that Herald's own operation submits: the rules are those of the hub.
struct SvixEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl
    let checks: SchemaChecks
    let waits: ReceiverWaits
    /// Whether the server itself uses https.
    let isTLS: Bool

    /// The beginning of all paths.
    static let root = "/api/v1"

    typealias Handler = @Sendable (Call) throws(Problem) -> Void

    var routes: [Route] {
        [route(.get, "/health", nil, takesQuery: true) { call in call.send(Response(status: 204)) }]
            + [route(.get, "/health/ping", nil, takesQuery: true) { call in call.send(Response(status: 204)) }]
            + [route(.post, "/auth/app-portal-access/{app_id}", .admin, openPortal)]
            + applicationRoutes + endpointRoutes + messageRoutes + attemptRoutes + eventTypeRoutes + unsupportedRoutes
    }

    /// - Parameter scope: `nil` if no key is needed.
    func route(
        _ method: RequestMethod, _ path: String, _ scope: Scope?, takesQuery: Bool = false, _ handle: @escaping Handler
    ) -> Route {
        Route(
            method, Self.root + path, needs: scope, takesQuery: takesQuery, takesSlashes: path.holds("{msg_id}"),
            errors: { $0.svixResponse(requestID: $1) }, handle)
    }

    /// A route below `/app/{app_id}`: the handler gets a call that acts on this app, whose parameters do not have it.
    func appRoute(
        _ method: RequestMethod, _ path: String, _ scope: Scope, takesQuery: Bool = false, _ handle: @escaping Handler
    ) -> Route {
        route(method, "/app/{app_id}" + path, scope, takesQuery: true) { call throws(Problem) in
            let acting = try acting(call)
            if !takesQuery { _ = try acting.query() }
            try handle(acting)
        }
    }

    /// - Throws: 404 for an unknown app, and for one to which the key has no access.
    func acting(_ call: Call) throws(Problem) -> Call {
        guard let word = call.parameters.first, let app = hub.committed.apps.find(word),
            app.key == call.app || call.principal.scopes.allow(.admin)
        else { throw .svixNotFound("application", call.parameters.first ?? "") }
        return call.acting(on: app.key)
    }

    // MARK: Operations without a counterpart

    /// The longest path of Svix's API has nine parts below the root.
    private static let maxParts = 9

    private static let erasure = "Herald erases by subject: DELETE /v1/subjects/{subject}."

    private static let unsupported: [(method: RequestMethod, path: String, why: String)] = [
        (.post, "/auth/logout", "Keys of Herald are revoked with DELETE /v1/keys/{id}."),
        (.delete, "/app/{app_id}/msg/{msg_id}/content", erasure),
        (.delete, "/app/{app_id}/msg/{msg_id}/attempt/{attempt_id}/content", erasure),
        (.get, "/background-task", "Herald has no background tasks: GET /v1/delegates/{id}/replays lists replays."),
        (.get, "/operational-webhook/endpoint", "Receive the events herald.* with a delegate instead."),
        (.post, "/operational-webhook/endpoint", "Receive the events herald.* with a delegate instead."),
        (.get, "/app/{app_id}/integration", "Herald has no integrations: create a key of the app instead."),
        (.post, "/app/{app_id}/integration", "Herald has no integrations: create a key of the app instead."),
    ]

    private var unsupportedRoutes: [Route] {
        Self.unsupported.map { operation in
            route(operation.method, operation.path, .read, takesQuery: true) { call throws(Problem) in
                throw .svixUnsupported(operation.why)
            }
        } + everyOtherRoute
    }

    /// The operations of Svix's SDKs that its open-source server does not have either.
    private var everyOtherRoute: [Route] {
        (1...Self.maxParts).flatMap { count in
            let path = String(repeating: "/{part}", count: count)
            return [RequestMethod.get, .post, .put, .patch, .delete].map { method in
                route(method, path, .read, takesQuery: true) { _ throws(Problem) in
                    throw .svixUnsupported(
                        "It has those of Svix's open-source server; see GET /openapi.json for its own.")
                }
            }
        }
    }
}

/// A call in another app than that of its key.
private final class ActingAdmission: Admission {
    let route: Route
    let parameters: [String]
    let principal: Principal
    let services: any CallServices
    var app: AppKey { principal.app }

    init(_ admission: any Admission, _ app: AppKey) {
        route = admission.route
        parameters = Array(admission.parameters.dropFirst())
        principal = admission.principal.acting(on: app)
        services = admission.services
    }
}

extension Call {
    /// The call in this app, without its first path parameter.
    fileprivate func acting(on app: AppKey) -> Call {
        Call(ActingAdmission(admission, app), request, responder, requestID: requestID, body: body)
    }
}
