import HeraldHTTP
import HeraldJSON
import HeraldModel

/// An error response: RFC 9457, `application/problem+json`.
struct Problem: Error, Sendable {
    /// One invalid field or parameter.
    struct Item: Sendable {
        enum Place: Sendable {
            /// A JSON pointer into the body.
            case pointer(String)
            /// The name of a query parameter or header.
            case parameter(String)
        }
        let place: Place
        let detail: String
    }

    let status: Int
    /// The last segment of `type`: stable, for programs.
    let name: String
    let title: String
    private(set) var detail: String
    var items: [Item] = []
    var headers: [Response.Field] = []
    /// A key or link that is not valid: counted when the response is sent (`AccessControl.counted`).
    var isWrongKey = false
    /// The error of the hub that it reports: other APIs report it in their own words.
    private(set) var cause: HubError?
    /// As `Response.holdMilliseconds`.
    var holdMilliseconds = 0

    func response(requestID: String) -> Response {
        let json = JSONWriter.document(capacity: 256) { problem in
            problem.member("type", "/problems/" + name)
            problem.member("title", title)
            problem.member("status", status)
            problem.member("detail", detail)
            problem.member("request_id", requestID)
            guard !items.isEmpty else { return }
            problem.array("errors", of: items) { item, error in
                switch item.place {
                case .pointer(let pointer): error.member("pointer", pointer)
                case .parameter(let name): error.member("parameter", name)
                }
                error.member("detail", item.detail)
            }
        }
        let fields = [Response.Field("Content-Type", "application/problem+json")] + headers
        var response = Response(status: status, headers: fields, body: json)
        response.holdMilliseconds = holdMilliseconds
        return response
    }
}

extension Problem {
    /// The problem with another detail.
    func saying(_ detail: String) -> Problem {
        var problem = self
        problem.detail = detail
        return problem
    }
}

extension Problem.Item {
    init(_ error: FieldError) { self.init(place: .pointer(error.pointer), detail: error.detail) }
}

// MARK: - All problems there are

extension Problem {
    static func malformedJSON(_ error: JSONError) -> Problem {
        switch error.reason {
        case .keyTooLong, .tooManyValues, .tooLarge:
            // Valid JSON beyond the limits of the parser.
            return .invalid([FieldError("", "is too much: \(error)")])
        default: break
        }
        return Problem(
            status: 400, name: "malformed-json", title: "The body is not valid JSON",
            detail: "The body is not valid JSON: \(error).")
    }

    static func malformedPath(_ detail: String) -> Problem {
        Problem(status: 400, name: "malformed-request", title: "The request is malformed", detail: detail)
    }

    static func badRequest(_ detail: String) -> Problem {
        Problem(status: 400, name: "bad-request", title: "The request cannot be carried out", detail: detail)
    }

    /// Without a key, or with a session that has ended.
    static let unauthorized = Problem(
        status: 401, name: "unauthorized", title: "An access key is required",
        detail: "Send a valid access key: Authorization: Bearer hrld_…",
        headers: [.init("WWW-Authenticate", "Bearer")])

    /// An unknown, revoked or expired key, without a difference between them. They are counted, because they may be
    /// guesses.
    static let wrongKey = Problem(
        status: 401, name: "unauthorized", title: "The access key is not valid",
        detail: "The server does not accept this access key: it is wrong, revoked or expired.",
        headers: [.init("WWW-Authenticate", "Bearer error=\"invalid_token\"")], isWrongKey: true)

    /// Credentials of another scheme. They are counted as wrong keys, because they may have a key.
    static let notBearer = Problem(
        status: 401, name: "unauthorized", title: "An access key is required",
        detail:
            "The header Authorization has no access key. Send one with the scheme Bearer: Authorization: Bearer hrld_…",
        headers: [.init("WWW-Authenticate", "Bearer")], isWrongKey: true)

    static func forbidden(_ scope: Scope) -> Problem {
        Problem(
            status: 403, name: "forbidden", title: "The key does not allow this",
            detail: "This needs the scope \(scope.rawValue), which the key does not have.")
    }

    static func noApp(_ word: String) -> Problem { .notFound("There is no app with the id or name \(word).") }

    /// - Parameter detail: `nil` for Herald's own.
    static func nameTaken(_ app: App, _ detail: String? = nil) -> Problem {
        Problem(
            status: 409, name: "name-taken", title: "The name belongs to another app",
            detail: detail ?? "The app \(app.id) is named \(app.settings.name).",
            items: [Item(place: .pointer("/name"), detail: "belongs to \(app.id)")])
    }

    static let defaultApp = Problem(
        status: 409, name: "default-app", title: "The app default cannot be deleted or renamed",
        detail: "The app default cannot be deleted or renamed.")

    /// - Parameter retryAfter: seconds.
    static func tooManyRequests(_ limit: Int, retryAfter: Int) -> Problem {
        Problem(
            status: 429, name: "too-many-requests", title: "Too many requests",
            detail: "This key may make \(limit) requests per second. Nothing was done; try again later.",
            headers: [.init("Retry-After", String(retryAfter))])
    }

    static let foreignOrigin = Problem(
        status: 403, name: "foreign-origin", title: "The request comes from a page of another site",
        detail:
            "A browser sent this request from a page of another site (Origin, Sec-Fetch-Site), which may not change anything. "
            + "The operator can allow its origin with --cors-origins. Signing in is possible from the dashboard only."
    )

    static func notFound(_ what: String) -> Problem { Problem(.notFound, status: 404, detail: what) }

    /// For good: what the publisher said is lost.
    static func eventDamaged(_ id: String) -> Problem {
        Problem(
            .eventDamaged, status: 410,
            detail:
                "The bytes of the event \(id) in the database are not those that were stored. It is not served or sent any more. "
                + "The operator can restore it from a backup.")
    }

    static func methodNotAllowed(_ allowed: String) -> Problem {
        Problem(
            status: 405, name: "method-not-allowed", title: "The method is not allowed",
            detail: "This path supports \(allowed).", headers: [.init("Allow", allowed)])
    }

    static func notAcceptable(_ offered: String) -> Problem {
        Problem(
            status: 406, name: "not-acceptable", title: "No acceptable representation",
            detail: "This path responds with \(offered), which the Accept header excludes.")
    }

    static func noDelegate(_ id: String) -> Problem { Problem(.noDelegate(id)) }

    static func noLease(_ id: String) -> Problem {
        Problem(
            .noLease, status: 409,
            detail:
                "The delegate \(id) stays until it is deleted. PATCH it with lease_seconds to give it a lease."
        )
    }

    static let lastAdminKey = Problem(
        status: 409, name: "last-admin-key", title: "The last admin key cannot be removed",
        detail: "This would leave keys without one that has the scope admin. Create a key with the scope admin first.")

    /// - Parameter why: which limit is reached, and what to do.
    static func tooMany(_ why: String) -> Problem { Problem(.tooMany, status: 409, detail: why) }

    static let preconditionFailed = Problem(
        .preconditionFailed, status: 412,
        detail: "If-Match does not name the current version. Read the resource again, and repeat the change.")

    static func bodyTooLarge(limit: Int) -> Problem {
        Problem(.bodyTooLarge, status: 413, detail: "A body may have at most \(limit) bytes.")
    }

    /// - Parameters:
    ///   - expected: the content types, for people.
    ///   - types: the content types, for the header that names them.
    ///   - isPatch: for PATCH, which has a header of its own (RFC 5789, 2.2).
    static func unsupportedMediaType(_ expected: String, _ types: String, isPatch: Bool = false) -> Problem {
        Problem(
            status: 415, name: "unsupported-media-type", title: "The content type is not supported",
            detail: "Send the body as \(expected), with that Content-Type.",
            headers: [.init(isPatch ? "Accept-Patch" : "Accept", types)])
    }

    /// RFC 9110, 15.5.16: the header says that it is the coding, and not the type.
    static func unsupportedCoding(_ coding: String) -> Problem {
        Problem(
            status: 415, name: "unsupported-media-type", title: "The content coding is not supported",
            detail: "The body has the Content-Encoding \(coding.prefix(40)). Send it without a Content-Encoding.",
            headers: [.init("Accept-Encoding", "identity")])
    }

    /// Whether a field that names an app or a delegate is invalid.
    var namesUnknown: Bool {
        items.contains { item in
            if case .pointer(let pointer) = item.place { ["/app", "/delegate"].contains(pointer) } else { false }
        }
    }

    static func invalid(_ errors: [FieldError]) -> Problem { validation(errors.map(Item.init)) }

    static func invalidParameter(_ name: String, _ detail: String) -> Problem { invalidParameters([name], detail) }

    /// - Parameter detail: for each of them.
    static func invalidParameters(_ names: [String], _ detail: String) -> Problem {
        validation(names.map { Item(place: .parameter($0), detail: detail) })
    }

    static func validation(_ items: [Item]) -> Problem {
        // The reader of the fields stops at this number.
        let isCut = items.count >= FieldError.maxReported
        return Problem(
            .validation, status: 422,
            detail: items.count == 1
                ? "One field is not valid. Nothing was changed."
                : isCut
                    ? "Many fields are not valid; the first are listed. Nothing was changed."
                    : "\(items.count) fields are not valid. Nothing was changed.",
            items: Array(items.prefix(FieldError.maxReported)))
    }

    static let budgetExceeded = Problem(
        .budgetExceeded, status: 422,
        detail:
            "Reading and checking it takes more than the budget of a request: \(WorkBudget.stepsPerRequest) steps, "
            + "50 ms at most. Nothing was done. Send fewer events at once, or less data; or make the schema, the pattern or "
            + "the filter simpler.")

    static func unavailable(_ name: String, _ title: String, _ detail: String, retryAfter: Int) -> Problem {
        Problem(
            status: 503, name: name, title: title, detail: detail, headers: [.init("Retry-After", String(retryAfter))])
    }

    static func unavailable(_ name: ProblemName, _ detail: String, retryAfter: Int = 1) -> Problem {
        unavailable(name.rawValue, name.title, detail, retryAfter: retryAfter)
    }

    static let noRandomness = unavailable(
        .noRandomness, "The system returned no random bytes. Nothing was done; try again.")

    static let tooManyChecks = unavailable(
        .busy, "Too many requests wait to be checked. Nothing was done; try again in a second.")

    static let tooManyReads = unavailable(
        .busy, "Too many reads wait for the store. Nothing was done; try again in a second.")

    static let tooManyLooks = unavailable(
        .busy, "Too many requests wait for the store. Nothing was done; try again in a second.")

    static let tooManyStreams = unavailable(
        "too-many-streams", "Too many streams are open",
        "The server, the app or the client's address has as many streams open as it may. Try again when one has ended.",
        retryAfter: 10)

    static let tooManyWaits = unavailable(
        .busy, "Too many requests wait for events. Try again in a second, or without wait.")

    static let tooManyCalls = unavailable(
        .busy, "Too many calls wait for their receivers. Nothing was sent; try again in a second.")

    static func noOutcome(isStopping: Bool) -> Problem {
        unavailable(
            isStopping ? .stopping : .busy,
            "There was no room for the call, or it was broken off: it is not known whether the receiver got it. Try again in "
                + "a second.")
    }

    /// A problem that the hub itself has: its name and title are the same in the library.
    init(_ name: ProblemName, status: Int, detail: String, items: [Item] = [], headers: [Response.Field] = []) {
        self.init(
            status: status, name: name.rawValue, title: name.title, detail: detail, items: items, headers: headers)
    }

    init(_ error: HubError) {
        switch error {
        case .invalid(let errors): self = .invalid(errors)
        // The delegate that sends the same requests.
        case .urlTaken(let id):
            self.init(
                .conflict, status: 409,
                detail: "The delegate \(id) sends the same requests to this URL for some of these events. Change it "
                    + "with PATCH /v1/delegates/\(id), or delete it first.",
                items: [Item(place: .pointer("/url"), detail: "belongs to \(id)")])
        case .tooMany(let why): self = .tooMany(why)
        case .notFound(let what): self = .notFound(what)
        case .hasChanged: self = .preconditionFailed
        case .noLease(let id): self = .noLease(id)
        case .unverified(let id):
            self.init(
                .unverified, status: 409,
                detail:
                    "The delegate \(id) gets no callbacks before its receiver has agreed. Its status_reason shows the progress."
            )
        case .eventDamaged(let id): self = .eventDamaged(id)
        case .budgetExceeded: self = .budgetExceeded
        case .noRandomness(let why): self = .unavailable(.noRandomness, why)
        case .keyReused:
            self.init(
                .idempotencyKeyReused, status: 422,
                detail: "This Idempotency-Key was used in the last 24 hours for a request with another path or body. "
                    + "Use a new key for a new request.",
                items: [Item(place: .parameter("Idempotency-Key"), detail: "was used for another request")])
        case .busy:
            self = .unavailable(
                .busy,
                "Requests arrive faster than the store can write them. Nothing was done; try again in a second.")
        // Requests are not withdrawn.
        case .stopping, .cancelled: self = .unavailable(.stopping, "Nothing was done; try again in a second.")
        case .tooLarge(let limit): self = .bodyTooLarge(limit: limit)
        case .rateLimited(let limit, let seconds):
            self.init(
                .rateLimited, status: 429,
                detail: "This app may publish \(limit) events per second. Nothing was published; try again later.",
                headers: [.init("Retry-After", String(seconds))])
        case .quotaExceeded(let limit):
            self.init(
                .quotaExceeded, status: 409,
                detail:
                    "The events of this app may take \(limit) bytes, and would take more. Nothing was published. There is "
                    + "room again when the oldest have left the log, or when its max_stored_bytes is raised.")
        case .alreadyPublished, .leaseEnded, .delegatePaused, .delegateGone, .wrongKind:
            self.init(error.problem, status: 409, detail: error.description)
        case .store(let error): self.init(error)
        }
        cause = error
    }

    /// The cause is for the operator: the detail describes only the consequence for the client.
    init(_ error: StoreError) {
        // To try again would not help.
        if case .unreadable = error {
            self = .unreadableRow
            return
        }
        let detail =
            switch error {
            case .full: "Nothing was done. The service continues by itself when there is space."
            case .unknown:
                "It is not known whether it was done. Try again in a few seconds, with the same id or Idempotency-Key."
            default: "Nothing was done; try again in a few seconds."
            }
        self = .unavailable(error.problem, detail, retryAfter: 5)
    }

    static let unreadableRow = Problem(
        status: 500, name: "internal", title: "An internal error occurred",
        detail: "A stored row can't be read. Nothing was done. The log of the server says more, and `herald check` "
            + "names the damaged rows of a data folder.")

    /// The store has not responded in time.
    static let storeIsSilent = Problem(StoreError.unavailable(reason: "it does not respond"))

    /// For `/readyz`, which needs no key: the error, without paths.
    static func notReady(_ error: HubError) -> Problem {
        guard case .store(let error) = error else { return Problem(error) }
        let cause =
            switch error {
            case .full: "The disk is full, or almost."
            case .inputOutput, .syncFailed: "The disk reports errors."
            case .unavailable, .unknown: "The store cannot be reached."
            case .notWritable: "The files of the store cannot be written."
            default: "The store fails."
            }
        return .unavailable(
            error.problem,
            cause + " Events are refused, or soon will be. Herald tries again by itself; its log says more.",
            retryAfter: 5)
    }

    /// An error that the HTTP server found.
    init(_ failure: RequestFailure, bodyLimit: Int) {
        switch failure {
        case .bodyTooLarge: self = .bodyTooLarge(limit: bodyLimit)
        case .overloaded, .tooManyOfAddress, .timedOut:
            self = .unavailable(.busy, Self.sentence(failure.reason))
        case .stopping: self = .unavailable(.stopping, "Try again in a second.")
        case .misdirected:
            self.init(
                status: failure.status, name: "misdirected-request", title: "The host is not served",
                detail:
                    "The server does not serve the host that the request names. Its operator lists the hosts that it serves "
                    + "with --allowed-hosts.")
        default:
            let (name, title) = Self.names[failure.status] ?? ("malformed-request", "The request is malformed")
            self.init(status: failure.status, name: name, title: title, detail: Self.sentence(failure.reason))
        }
        // The server adds Retry-After to these.
        headers = []
    }

    private static let names: [Int: (String, String)] = [
        414: ("target-too-long", "The request target is too long"),
        417: ("expectation-failed", "The expectation cannot be met"),
        431: ("header-fields-too-large", "The header section is too large"),
        500: ("internal", "An internal error occurred"),
        501: ("method-unknown", "The method is unknown"),
        505: ("version-not-supported", "The version of HTTP is not supported"),
    ]

    private static func sentence(_ reason: String) -> String {
        reason.prefix(1).uppercased() + reason.dropFirst() + "."
    }
}

/// The result of a call of the hub, whose errors become problems.
func problem<Result>(_ body: () throws(HubError) -> Result) throws(Problem) -> Result {
    do throws(HubError) {
        return try body()
    } catch {
        throw Problem(error)
    }
}
