package import HeraldCore
package import HeraldHTTP
import HeraldJSON
import HeraldModel
package import HeraldRuntime
import Synchronization

/// The REST API of a hub: handles the requests of `HTTPServer`.
package final class HeraldService: RequestHandler, CallServices {
    /// The settings of the service, besides the hub.
    package struct Configuration: Sendable {
        /// As `--version` prints it.
        package var version = "0"
        package var maxBodyBytes = PublicationLimits.defaultBytes
        /// The most bytes of requests that wait to be read or checked.
        package var maxWaitingBytes = 96 << 20
        /// The most requests whose response waits for receivers, at least 1: they must not hold all connections.
        package var maxReceiverWaits = 1_000
        /// The size of all compiled schemas, in units of `JSONSchema.size`: about 100 bytes.
        package var maxSchemas = 500_000
        /// The counters of the HTTP server, for `/metrics`.
        package var httpStatistics: @Sendable () -> HTTPServerStatistics? = { nil }
        /// A key outside of the store with the scope `admin`; at least 20 bytes.
        package var operatorKey: String?
        /// The limit of requests per second for keys without one of their own, ≥ 1; `nil` for no limit.
        package var requestsPerSecond: Int?
        /// Origins of other sites whose pages may use the API; each satisfies `OriginRules.isOrigin`.
        package var corsOrigins: [String] = []
        /// Called when an address sends an invalid key, at most once a minute for each address. On a loop's thread;
        /// must not wait.
        package var reportWrongKeys: @Sendable (WrongKeys.Report) -> Void = { _ in }
        /// Whether the server itself uses https: cookies are marked `Secure`.
        package var isTLS = false
        package var publicURL = PublicURL()
        /// Whether the operations of Svix's server are served below `/api/v1`.
        package var servesSvix = false
        /// Replaces the hub for posted events: for benchmarks of everything before the log. Any thread.
        package var publish: (@Sendable (Publication) -> Void)?
        package init() {}
    }

    let table: RouteTable
    let access: AccessControl
    private let hub: Hub
    private let maxBodyBytes: Int
    let seal: NumberSeal
    let deadlines: ReadDeadlines
    let publicURL: PublicURL
    let refusals: RefusalTrace?
    private let pool: WorkPool
    /// The large bodies of all calls: each keeps its own until its response, also while it waits for the disk or for receivers.
    let bodyRoom: ByteRoom<AppKey>
    private let originRules: Mutex<OriginRules>

    /// - Throws: if its threads cannot be made.
    package init(hub: Hub, configuration: Configuration = Configuration()) throws(SystemError) {
        pool = try WorkPool(maxBytes: configuration.maxWaitingBytes)
        self.hub = hub
        deadlines = ReadDeadlines(hub: hub)
        publicURL = configuration.publicURL
        refusals = RefusalTrace(hub)
        maxBodyBytes = configuration.maxBodyBytes
        bodyRoom = ByteRoom(maxBytes: WorkPool.bodyBytes(of: configuration.maxWaitingBytes))
        originRules = Mutex(OriginRules(configuration.corsOrigins))
        let access = AccessControl(
            hub: hub, operatorKey: configuration.operatorKey, requestsPerSecond: configuration.requestsPerSecond,
            reportWrongKeys: configuration.reportWrongKeys)
        self.access = access
        let seal = NumberSeal(hub.secret)
        self.seal = seal
        let checks = SchemaChecks(hub, pool, maxSize: configuration.maxSchemas)
        hub.submissions.use { [checks] draft, data, reader, budget throws(StoreError) in
            try checks.violations(of: draft, data, reader, within: &budget)
        }
        let streams = Streams(hub, seal)
        let metrics = Metrics(
            hub: hub, checks: checks, streams: streams, wrongKeys: access.wrongKeys, version: configuration.version,
            http: configuration.httpStatistics)
        hub.addDelegate(metrics.events, description: "Metrics: events by family")
        let watch = AppStateWatch(hub: hub)
        let waits = ReceiverWaits(limit: configuration.maxReceiverWaits)
        hub.addDelegate(watch, description: "Long polls: who waits for the app state to change")
        let feed = EventFeed(hub: hub)
        hub.addDelegate(feed, description: "Long polls: requests that wait for events")
        let pulls = Pulls(hub: hub)
        hub.addDelegate(pulls, description: "Long polls: consumers that wait for events of pull delegates")
        table = RouteTable(
            DelegateEndpoints(hub: hub, streams: streams).routes
                + PullEndpoints(hub: hub, pulls: pulls, waits: waits, access: access).routes
                + PreviewEndpoints(hub: hub).routes
                + DelegateActionEndpoints(hub: hub, waits: waits).routes + DelegateRecordEndpoints(hub: hub).routes
                + StreamEndpoints(hub: hub, streams: streams, access: access).routes
                + EventEndpoints(
                    hub: hub, checks: checks, waits: waits,
                    feed: FeedEndpoint(hub: hub, feed: feed, waits: waits, access: access),
                    publish: configuration.publish ?? { [hub] in hub.enqueue($0) }
                ).routes
                + DeliveryEndpoints(hub: hub).routes
                + EventTypeEndpoints(hub: hub, pool: pool).routes + SubjectEndpoints(hub: hub).routes
                + StateEndpoints(hub: hub, checks: checks, watch: watch, waits: waits, access: access).routes
                + StorageEndpoints(hub: hub).routes + NodeEndpoints(hub: hub).routes
                + ActivityEndpoints(hub: hub).routes + AuditEndpoints(hub: hub).routes
                + PortalEndpoints(hub: hub, access: access).routes
                + AppEndpoints(hub: hub, access: access).routes
                + KeyEndpoints(hub: hub, access: access).routes
                + SessionEndpoints(hub: hub, access: access, isTLS: configuration.isTLS).routes
                + SystemEndpoints(hub: hub, metrics: metrics, publicURL: publicURL).routes
                + ReferenceEndpoints(publicURL: publicURL).routes
                + DashboardEndpoints(hub: hub).routes
                + (configuration.servesSvix
                    ? SvixEndpoints(hub: hub, access: access, checks: checks, waits: waits, isTLS: configuration.isTLS)
                        .routes : []))
    }

    /// Refuses requests that wait for validation, and returns when none is running. Must be called after the server has
    /// stopped accepting posts.
    package func stop() { pool.stop() }

    // MARK: RequestHandler

    package func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision {
        do throws(Problem) {
            return .admitted(try admit(head))
        } catch {
            return mayBeOutdated(error) ? .admitted(OutdatedCall(self, peer)) : .refused(refusal(error, head, peer))
        }
    }

    var origins: OriginRules { originRules.withLock { $0 } }

    /// The origins of other sites whose pages may use the API from now on. Any thread.
    package func allow(origins: [String]) { originRules.withLock { $0 = OriginRules(origins) } }

    func originFields(for head: RequestHead) -> [Response.Field] { origins.fields(for: head) }

    func counted(_ problem: Problem, from peer: PeerAddress) -> Problem { access.counted(problem, from: peer) }

    func refusal(_ problem: Problem, _ head: RequestHead, _ peer: PeerAddress) -> Response {
        let route = route(of: head)
        var response = answer(counted(problem, from: peer), route)
        response.headers += originFields(for: head)
        refusals?.record(head, route?.template, response.status)
        return response
    }

    private func route(of head: RequestHead) -> Route? {
        guard case .found(let route, _)? = try? table.match(head.method, head.pathBytes) else { return nil }
        return route
    }

    /// Monitoring must work even if too many other requests are waiting.
    package func mayWait(_ head: RequestHead) -> Bool { !["/healthz", "/readyz", "/metrics"].contains(head.path) }

    /// Monitoring and publishing must work even if a proxy's other connections are all in use.
    package func mayUseReserve(_ head: RequestHead) -> Bool {
        switch head.method {
        case .get, .head: ["/healthz", "/readyz"].contains(head.path)
        // A publication that waits for receivers would hold its connection for long.
        case .post: head.path == "/v1/events" && !head.has("Prefer")
        default: false
        }
    }

    package func roundEnded() { hub.flush() }

    package func failure(_ failure: RequestFailure, for origin: String?) -> Response {
        var response = answer(Problem(failure, bodyLimit: maxBodyBytes))
        response.headers += origins.fields(for: origin)
        return response
    }

    /// Handles a request with a large body on a thread of the pool, because a loop's thread serves all its connections.
    func handle(
        _ app: AppKey, _ request: Request, refuse: @escaping @Sendable (Problem) -> Void,
        _ body: @escaping @Sendable () throws(Problem) -> Void
    ) throws(Problem) {
        try pool.run(app, bytes: request.body.count, refuse: refuse) { [hub] in
            do throws(Problem) {
                try body()
            } catch {
                refuse(error)
            }
            // Outside of a loop's round, the intake must be flushed here.
            hub.flush()
        }
    }

    /// Whether a refusal may be wrong, because another process has made what memory lacks.
    func mayBeOutdated(_ problem: Problem) -> Bool {
        (problem.status == 401 || problem.status == 404 || problem.namesUnknown) && hub.canCatchUp
    }

    /// Handles a request after the hub has read the changes of other processes.
    /// - Parameter late: called when the store does not respond in time; the body may run later.
    func later(
        _ app: AppKey, _ request: Request, refuse: @escaping @Sendable (Problem) -> Void,
        late: @escaping @Sendable (Problem) -> Void, _ body: @escaping @Sendable () throws(Problem) -> Void
    ) {
        let pending = deadlines.expect(within: ReadDeadlines.read) { late(.storeIsSilent) }
        let isTaken = hub.catchUp { [self] error in
            defer { withExtendedLifetime(pending) {} }
            if let error { return refuse(Problem(error)) }
            do throws(Problem) {
                try handle(app, request, refuse: refuse, body)
            } catch {
                refuse(error)
            }
        }
        if !isTaken { refuse(.tooManyLooks) }
    }

    // MARK: Heads

    private static let unknownPath = Problem.notFound(
        "There is nothing at this path. GET /openapi.yaml describes the API.")

    /// The response to `OPTIONS *`, a request about the server as a whole.
    private static let serverMethods = [Response.Field("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")]

    func admit(_ head: RequestHead) throws(Problem) -> any AdmittedRequest {
        try origins.check(head)
        if head.method == .options, head.path == "*" {
            return AdmittedOptions(Self.serverMethods + [.init("Request-Id", newRequestID())])
        }
        switch try table.match(head.method, head.pathBytes) {
        case .unknownPath: throw Self.unknownPath
        case .otherMethods(let allowed):
            guard head.method == .options else { throw .methodNotAllowed(allowed) }
            return AdmittedOptions(
                [.init("Allow", allowed), .init("Request-Id", newRequestID())]
                    + origins.preflightFields(for: head, allowed: allowed))
        case .found(let route, let parameters):
            let principal = try access.admit(head, to: route, parameters)
            if head.hasBody {
                try checkContentCoding(head)
                try checkContentType(head, route)
            }
            if let accept = head.list(of: "Accept"), route.template.hasPrefix("/v1/") {
                try checkAccept(accept, route)
            }
            return AdmittedCall(self, route, parameters, principal)
        }
    }

    /// Bodies are not decoded: a small one could become a large one.
    private func checkContentCoding(_ head: RequestHead) throws(Problem) {
        guard let coding = head.list(of: "Content-Encoding"), !coding.isEmpty, coding.lowercased() != "identity" else {
            return
        }
        throw .unsupportedCoding(coding)
    }

    private func checkContentType(_ head: RequestHead, _ route: Route) throws(Problem) {
        guard route.method != .get && route.method != .delete else { return }
        if head.isJSON { return }
        let given = head.value(of: "Content-Type") ?? ""
        let type = given.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        if type == "application/json" || (route.method == .patch && type == "application/merge-patch+json") { return }
        if route.takesCloudEvents {
            if CloudEventInput.accepts(type, head) { return }
            throw .unsupportedMediaType(CloudEventInput.contentTypes, CloudEventInput.acceptableTypes)
        }
        if route.method == .patch {
            throw .unsupportedMediaType(
                "application/json", "application/json, application/merge-patch+json", isPatch: true)
        }
        throw .unsupportedMediaType("application/json", "application/json")
    }

    /// The media ranges of an `Accept` that are read.
    private static let maxRanges = 100

    private func checkAccept(_ accept: String, _ route: Route) throws(Problem) {
        let offered =
            route.isStream
            ? ["*/*", "text/*", "text/event-stream"]
            : ["*/*", "application/*", "application/json", "application/problem+json"]
        // A loop's thread reads it, for some routes without a key.
        let acceptable = accept.split(separator: ",").prefix(Self.maxRanges).contains { range in
            let parts = range.lowercased().filter { $0 != " " }.split(separator: ";")
            // `q=0`, `q=0.0` to `q=0.000`: not acceptable.
            let isRefused = parts.dropFirst().contains { part in
                part.hasPrefix("q=0") && part.dropFirst(3).allSatisfy { $0 == "." || $0 == "0" }
            }
            guard let type = parts.first, !isRefused else { return false }
            return offered.contains(String(type))
        }
        if !acceptable { throw .notAcceptable(route.isStream ? "text/event-stream" : "application/json") }
    }

    func newRequestID() -> String { hub.ids.next("req_", time: hub.clock.wall()) }

    private func answer(_ problem: Problem, _ route: Route? = nil) -> Response {
        let requestID = newRequestID()
        var response = route?.errors(problem, requestID) ?? problem.response(requestID: requestID)
        response.headers += [
            .init("Request-Id", requestID), .init("Cache-Control", "no-store"),
            .init("X-Content-Type-Options", "nosniff"),
        ]
        return response
    }
}
