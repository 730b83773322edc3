import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// A request that was authorized by its header section, with its route and principal.
final class AdmittedCall: AdmittedRequest, Admission {
    private let service: HeraldService
    let route: Route
    let parameters: [String]
    let principal: Principal
    var app: AppKey { principal.app }
    var services: any CallServices { service }

    init(_ service: HeraldService, _ route: Route, _ parameters: [String], _ principal: Principal) {
        self.service = service
        self.route = route
        self.parameters = parameters
        self.principal = principal
    }

    func handle(_ request: Request, _ responder: Responder) {
        let isLarge = request.body.count > SharedParser.maxShared
        let body = isLarge ? service.bodyRoom.part(request.body.count, of: app) : nil
        let call = Call(self, request, responder, requestID: service.newRequestID(), body: body)
        do throws(Problem) {
            // The body may have arrived long after the headers.
            if request.head.hasBody, route.needs != nil, !service.access.isValid(principal) { throw .unauthorized }
            // Here and not at the header section, so that the connection can stay open.
            try service.access.count(principal)
            if !isLarge { return try route.handle(call) }
            guard body != nil else { throw .tooManyChecks }
            let refuse: @Sendable (Problem) -> Void = { [self] in self.refuse(call, $0, isLarge: isLarge) }
            try service.handle(app, request, refuse: refuse) { [route] () throws(Problem) in try route.handle(call) }
        } catch {
            refuse(call, error, isLarge: isLarge)
        }
    }

    /// A request that memory may refuse wrongly is decided again. Any thread.
    private func refuse(_ call: Call, _ problem: Problem, isLarge: Bool) {
        guard service.mayBeOutdated(problem) else { return call.send(problem) }
        let refuse: @Sendable (Problem) -> Void = { call.send($0) }
        let late: @Sendable (Problem) -> Void = { call.refuse($0) }
        service.later(principal.app, call.request, refuse: refuse, late: late) { [self] () throws(Problem) in
            // What was read may have ended the key.
            guard route.needs == nil || service.access.isValid(principal) else { throw .unauthorized }
            if isLarge, call.body == nil { throw .tooManyChecks }
            try route.handle(call)
        }
    }
}

/// A request that was refused because memory lacks something, which another process may just have made in the shared store: it is
/// decided again after the hub has read the changes.
final class OutdatedCall: AdmittedRequest {
    private let service: HeraldService
    private let peer: PeerAddress

    init(_ service: HeraldService, _ peer: PeerAddress) {
        self.service = service
        self.peer = peer
    }

    func handle(_ request: Request, _ responder: Responder) {
        let service = service
        let peer = peer
        let refuse: @Sendable (Problem) -> Void = { responder.send(service.refusal($0, request.head, peer)) }
        // Its key is not known yet: while the store is slow, such bodies have the same bound as all others.
        let isLarge = request.body.count > SharedParser.maxShared
        let body = isLarge ? service.bodyRoom.part(request.body.count, of: .unknown) : nil
        if isLarge, body == nil { return refuse(.tooManyChecks) }
        let late: @Sendable (Problem) -> Void = {
            _ = responder.sendUnlessBegun(service.refusal($0, request.head, peer))
        }
        service.later(.default, request, refuse: refuse, late: late) { () throws(Problem) in
            defer { withExtendedLifetime(body) {} }
            try service.admit(request.head).handle(request, responder)
        }
    }
}

/// `OPTIONS` of an existing path, or of the whole server.
final class AdmittedOptions: AdmittedRequest {
    private let headers: [Response.Field]

    init(_ headers: [Response.Field]) {
        self.headers = headers
    }

    func handle(_ request: Request, _ responder: Responder) {
        responder.send(Response(status: 204, headers: headers))
    }
}
