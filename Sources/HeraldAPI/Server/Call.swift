import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// A request that was authorized by its header section.
protocol Admission: AnyObject, Sendable {
    var route: Route { get }
    /// The decoded path parameters, in order.
    var parameters: [String] { get }
    var principal: Principal { get }
    /// The app of the principal, which is large: reading it from here copies no more than the key.
    var app: AppKey { get }
    var services: any CallServices { get }
}

/// The parts of the service that every call needs.
protocol CallServices: AnyObject, Sendable {
    /// Hides numbers that depend on other apps.
    var seal: NumberSeal { get }
    var deadlines: ReadDeadlines { get }
    var publicURL: PublicURL { get }
    var refusals: RefusalTrace? { get }
    /// The CORS headers of the response.
    func originFields(for head: RequestHead) -> [Response.Field]
    /// Counts an invalid key or link.
    /// - Returns: the problem, which is held after too many invalid keys.
    func counted(_ problem: Problem, from peer: PeerAddress) -> Problem
}

/// A request until its response. A class, because the closures that wait for an outcome hold it.
final class Call: Sendable {
    let request: Request
    let responder: Responder
    let requestID: String
    let admission: any Admission
    /// The room of a large body, which the call has until its end; `nil` for a small one.
    let body: ByteRoom<AppKey>.Part?
    /// When it began, if refusals are traced; nanoseconds of the monotonic clock.
    private let began: Int64

    init(
        _ admission: any Admission, _ request: Request, _ responder: Responder, requestID: String,
        body: ByteRoom<AppKey>.Part?
    ) {
        began = admission.services.refusals?.now ?? 0
        self.admission = admission
        self.request = request
        self.responder = responder
        self.requestID = requestID
        self.body = body
    }

    var parameters: [String] { admission.parameters }
    var principal: Principal { admission.principal }
    /// The path of the route: `/v1/delegates/{id}`.
    var template: String { admission.route.template }
    var seal: NumberSeal { admission.services.seal }
    var app: AppKey { admission.app }
    var publicURL: PublicURL { admission.services.publicURL }

    /// For the audit log.
    var provenance: Provenance {
        Provenance(
            actor: principal.identity.name, address: request.peer.description,
            action: request.head.method.rawValue + " " + template)
    }

    // MARK: Answering

    /// - Parameter caching: the `Cache-Control` of a response to GET.
    func send(_ response: Response, caching: String = "no-store") {
        let status = response.status
        responder.send(completed(response, caching: caching))
        trace(status)
    }

    private func trace(_ status: Int) {
        if status >= 400 { admission.services.refusals?.record(request.head, template, status, since: began) }
    }

    /// The response with the headers that every response has.
    func completed(_ response: consuming Response, caching: String = "no-store") -> Response {
        response.headers.append(.init("Request-Id", requestID))
        locate(&response)
        response.headers += admission.services.originFields(for: request.head)
        // Responses to other methods are neither cached nor opened in a browser; each header costs 0.3 µs.
        if request.head.method == .get || request.head.method == .head {
            response.headers.append(.init("Cache-Control", caching))
            response.headers.append(.init("X-Content-Type-Options", "nosniff"))
        }
        return response
    }

    /// Changes the path in `Location` to a URL. The path alone is stored with an idempotent response, because the public URL
    /// may change.
    private func locate(_ response: inout Response) {
        let base = publicURL.base
        if base.isEmpty { return }
        response.headers = response.headers.map { field in
            field.name.description == "Location" ? .init(field.name, base + field.value) : field
        }
    }

    func send(_ problem: Problem) { send(response(to: problem)) }

    /// Runs the body, and sends the problem that it throws.
    func attempt(_ body: () throws(Problem) -> Void) {
        do throws(Problem) {
            try body()
        } catch {
            send(error)
        }
    }

    func response(to problem: Problem) -> Response {
        admission.route.errors(admission.services.counted(problem, from: request.peer), requestID)
    }

    /// - Parameter type: of the content.
    func send(_ headers: [Response.Field] = [], type: String = "application/json", _ body: [UInt8]) {
        send(Response(status: 200, headers: [.init("Content-Type", type)] + headers, body: body))
    }

    func send(status: Int = 200, _ headers: [Response.Field] = [], _ body: (inout JSONObjectWriter) -> Void) {
        send(.json(status: status, headers, body))
    }

    /// A resource with its `ETag`; 304 if the client has it.
    func send(etag: String, _ body: (inout JSONObjectWriter) -> Void) {
        send(tag: "\"\(etag)\"") { JSONWriter.document(capacity: 512, body) }
    }

    /// - Parameter tag: the `ETag`, in quotes.
    func send(tag: String, _ body: () -> [UInt8]) {
        // In other requests than for reading, the header is a condition of the change.
        let isRead = request.head.method == .get || request.head.method == .head
        if isRead, let known = request.head.list(of: "If-None-Match"), Self.names(known, tag) {
            return send(Response(status: 304, headers: [.init("ETag", tag)]))
        }
        send([.init("ETag", tag)], body())
    }

    /// The delegate whose id is in the path.
    func webhook(in hub: Hub, for action: DelegateKind.Action? = nil) throws(Problem) -> WebhookDelegate {
        try problem { () throws(HubError) in try hub.webhook(parameters[0], of: app, for: action) }
    }

    /// Sends a problem after this time, unless the returned object is released before, or a change has begun.
    func deadline(milliseconds: Int = ReadDeadlines.read) -> ReadDeadlines.Pending {
        admission.services.deadlines.expect(within: milliseconds) { [self] in refuse(.storeIsSilent) }
    }

    /// Sends a problem that says that nothing was done, unless a change has begun.
    func refuse(_ problem: Problem) {
        let response = response(to: problem)
        let status = response.status
        if responder.sendUnlessBegun(completed(response)) { trace(status) }
    }

    /// The hub, for a change whose outcome the response reports; `nil` if the response was that nothing was done.
    func begin(_ hub: Hub) -> Hub? { responder.begin() ? hub : nil }

    /// Runs on a reader's thread, in the turns of the app of the request, and sends the returned response or the thrown problem.
    /// - Parameter refuse: what to do with the problem instead.
    func answer(
        from hub: Hub, refuse: (@Sendable (Problem) -> Void)? = nil,
        _ body: @escaping @Sendable (any StoreReader) throws -> Void
    ) throws(Problem) {
        try answer(from: hub, for: app, refuse: refuse, body)
    }

    /// Runs on a reader's thread and sends the returned response or the thrown problem. If a store that other processes share does
    /// not respond within some seconds, the response is a problem.
    /// - Parameters:
    ///   - app: the app in whose turns it runs; `nil` for the turns of the server itself.
    ///   - milliseconds: the time for the response; `nil` for the default.
    func answer(
        from hub: Hub, for app: AppKey?, within milliseconds: Int? = nil, refuse: (@Sendable (Problem) -> Void)? = nil,
        _ body: @escaping @Sendable (any StoreReader) throws -> Void
    ) throws(Problem) {
        let refuse = refuse ?? { self.send($0) }
        let limit = milliseconds ?? (hub.limitsReads ? ReadDeadlines.read : nil)
        let pending = limit.map { deadline(milliseconds: $0) }
        let taken = hub.read(app: app) { reader in
            defer { withExtendedLifetime(pending) {} }
            do {
                try body(reader.get())
            } catch let problem as Problem {
                refuse(problem)
            } catch let error as HubError {
                if case .store(let cause) = error { hub.storage.requestFailed(cause, at: hub.clock.monotonic()) }
                refuse(Problem(error))
            } catch let error as StoreError {
                hub.storage.requestFailed(error, at: hub.clock.monotonic())
                refuse(Problem(error))
            } catch {
                refuse(Problem(StoreError.failed(reason: "\(error)")))
            }
        }
        if !taken { throw .tooManyReads }
    }

    /// Runs the body when memory has what other processes have just made.
    func afterLooking(_ hub: Hub, _ body: @escaping @Sendable () throws(Problem) -> Void) throws(Problem) {
        guard hub.canCatchUp else { return try body() }
        let pending = deadline()
        let isTaken = hub.catchUp { [self] error in
            defer { withExtendedLifetime(pending) {} }
            if let error { return send(Problem(error)) }
            // Not on the writer's thread: it may read a large request.
            attempt { () throws(Problem) in try answer(from: hub) { _ in try body() } }
        }
        if !isTaken { throw .tooManyLooks }
    }

    // MARK: Reading

    func query(_ known: String...) throws(Problem) -> Query { try query(known) }

    func query(_ known: [String]) throws(Problem) -> Query { try Query(request.head.query, known: known) }

    /// The body as JSON.
    func json(limits: JSONLimits = .standard) throws(Problem) -> JSONDocument {
        try JSONDocument(reading: request.body, limits: limits)
    }

    /// The body as JSON; an empty object if there is no body.
    func optionalJSON() throws(Problem) -> JSONDocument {
        try JSONDocument(reading: request.body.isEmpty ? Array("{}".utf8) : request.body)
    }

    /// Refuses a body other than an empty object.
    /// - Parameter reason: the error of each field; `nil` for the usual one.
    func noBody(_ reason: String? = nil) throws(Problem) {
        guard !request.body.isEmpty else { return }
        let errors = try json().errors(unlessObjectOf: [])
        guard errors.isEmpty else {
            guard let reason else { throw .invalid(errors) }
            throw .invalid(errors.map { FieldError($0.pointer, reason) })
        }
    }

    /// The versions that the resource may have (RFC 9110, 13.1): those in `If-Match`, or the one of a resource that
    /// does not exist, with `If-None-Match: *`; `nil` for any.
    /// - Parameter absent: the version of a resource that does not exist.
    func versions(absent: String) -> Set<String>? {
        let head = request.head
        guard let text = head.list(of: "If-Match"), text != "*" else {
            return head.list(of: "If-None-Match") == "*" ? [absent] : nil
        }
        // A weak tag matches nothing.
        return Set(
            text.split(separator: ",").compactMap { entry in
                let tag = entry.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                guard tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
                return String(tag.dropFirst().dropLast())
            })
    }

    /// Whether `If-None-Match` contains a tag.
    static func names(_ list: String, _ tag: String) -> Bool {
        list == "*"
            || list.split(separator: ",").contains { entry in
                let entry = entry.drop { $0 == " " }
                return (entry.hasPrefix("W/") ? entry.dropFirst(2) : entry).prefix { $0 != " " } == tag
            }
    }
}

extension Response {
    /// `application/json`.
    static func json(
        status: Int = 200, _ headers: [Field] = [], _ body: (inout JSONObjectWriter) -> Void
    ) -> Response {
        let fields = [Field("Content-Type", "application/json")] + headers
        return Response(status: status, headers: fields, body: JSONWriter.document(capacity: 512, body))
    }

    /// A resource with its version as `ETag`.
    static func resource(
        version: Int64, status: Int = 200, _ headers: [Field] = [], _ body: (inout JSONObjectWriter) -> Void
    ) -> Response {
        json(status: status, [.init("ETag", "\"\(version)\"")] + headers, body)
    }
}
