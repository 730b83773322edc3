import HeraldCore
import HeraldDelivery
package import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Live streams: events as they are posted, and attempts as they are recorded.
struct StreamEndpoints: Sendable {
    let hub: Hub
    let streams: Streams
    let access: AccessControl

    var routes: [Route] {
        [
            Route(.get, "/v1/events/stream", needs: .read, takesQuery: true, isStream: true, listenToEvents),
            Route(.get, "/v1/attempts/stream", needs: .read, takesQuery: true, isStream: true, listenToAttempts),
            Route(.post, "/v1/stream-tokens", needs: .read, makeToken),
        ]
    }

    // MARK: Events

    private func listenToEvents(_ call: Call) throws(Problem) {
        let query = try call.query("events", "subjects", "last_event_id", "token")
        let interest = try interest(query, call.app)
        let start = try start(call, query, mustBe: PositionInput.words, Self.start)
        try listen(call, to: streams.events, interest, start)
    }

    /// Finds the position after which to start. `nil` if the text is invalid.
    static func start(_ text: String, _ call: Call) -> Beginning? {
        if let place = call.seal.place(text, .event, of: call.app) {
            return .after { reader throws(StoreError) in
                let log = (try reader.firstEvent() - 1)...(try reader.lastEvent())
                return log.contains(place) ? StreamPlace(place) : nil
            }
        }
        let app = call.app
        switch PositionInput(text) {
        case nil, .after: return nil
        case .now: return .now
        case .earliest:
            return .after { reader throws(StoreError) in StreamPlace(try reader.firstEvent() - 1, id: earliest) }
        case .time(let time):
            return .after { reader throws(StoreError) in
                // The id of an event may be a time, and a client that reconnects sends the id of its last event.
                if EventID.isKnowable(text), let event = try reader.event(app: app, id: text) {
                    return StreamPlace(event.sequence, id: text)
                }
                return StreamPlace(try reader.sequence(since: time) - 1)
            }
        case .event(let id):
            return .after { reader throws(StoreError) in
                try reader.event(app: app, id: id).map { StreamPlace($0.sequence, id: id) }
            }
        }
    }

    private static let earliest = "earliest"

    private static let unknown = Beginning.after { _ throws(StoreError) in nil }

    enum Beginning: Sendable {
        case now
        case after(EventStreams.Start)

        fileprivate var start: EventStreams.Start? {
            switch self {
            case .now: nil
            case .after(let start): start
            }
        }
    }

    func interest(_ query: Query, _ app: AppKey) throws(Problem) -> EventSelection {
        var wrong: [Problem.Item] = []
        var patterns: [EventPattern] = [.any]
        if let text = query["events"] {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { EventPattern(String($0)) }
            patterns = parts.compactMap(\.self)
            if patterns.count != parts.count || patterns.count > EventSelection.maxPatterns {
                wrong.append(
                    .init(
                        place: .parameter("events"),
                        detail:
                            "must be 1 to \(EventSelection.maxPatterns) of auth.logged_in, auth.* or *, separated by commas"
                    ))
            }
        }
        var subjects: [String] = []
        if let text = query["subjects"] {
            subjects = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let problem = subjects.compactMap(SubjectSelection.problem).first
            if subjects.count > EventSelection.maxSubjects || problem != nil {
                wrong.append(
                    .init(
                        place: .parameter("subjects"),
                        detail: problem.map { "has a subject between its commas that \($0)" }
                            ?? "must be at most \(EventSelection.maxSubjects) subjects, separated by commas"))
            }
        }
        guard wrong.isEmpty else { throw .validation(wrong) }
        return EventSelection(app: app, events: patterns, SubjectSelection(subjects))
    }

    // MARK: Attempts

    private func listenToAttempts(_ call: Call) throws(Problem) {
        let query = try call.query("delegate", "event", "outcome", "last_event_id", "token")
        let interest = try attemptInterest(query, call.app)
        let start = try start(call, query, mustBe: "an attempt's id", Self.attemptStart)
        try listen(call, to: streams.attempts, interest, start)
    }

    func attemptInterest(_ query: Query, _ app: AppKey) throws(Problem) -> AttemptInterest {
        let delegate = try query["delegate"].map { id throws(Problem) in
            guard let delegate = hub.committed.registry.delegate(app, id: id) else { throw .noDelegate(id) }
            return delegate.key
        }
        if let event = query["event"], !EventID.isKnowable(event) {
            throw .invalidParameter("event", "must be an event's id")
        }
        return AttemptInterest(app: app, delegate: delegate, event: query["event"], succeeded: try query.succeeded())
    }

    /// Finds the position after which to start. `nil` if the text is invalid.
    private static func attemptStart(_ text: String, _ call: Call) -> Beginning? {
        switch text {
        case "now": .now
        case earliest: .after(startAtOldest)
        default:
            if let attempt = call.seal.attempt(text, app: call.app) {
                .after(start(after: StreamPlace(attempt, id: text)))
            } else {
                call.seal.place(text, .attempt, of: call.app).map { .after(start(after: StreamPlace($0))) }
            }
        }
    }

    private static let startAtOldest: AttemptStreams.Start = { reader throws(StoreError) in
        StreamPlace((try reader.attempts(after: 0, limit: 1).first?.id ?? 1) - 1, id: earliest)
    }

    /// - Parameter place: the position of an attempt that may be removed; the ones after it must exist.
    private static func start(after place: StreamPlace) -> AttemptStreams.Start {
        { reader throws(StoreError) in
            let number = place.number
            // The position before the very first one.
            if number == 0, try reader.lastAttempt() == 0 { return place }
            guard number <= (try reader.lastAttempt()), let oldest = try reader.attempts(after: 0, limit: 1).first,
                number >= oldest.id - 1
            else { return nil }
            return place
        }
    }

    // MARK: Both

    /// Where the stream begins, by the query or, newer than that, by what a browser got last.
    /// - Parameter find: finds the position after which to begin; `nil` when a text names none.
    private func start(
        _ call: Call, _ query: Query, mustBe words: String, _ find: (String, Call) -> Beginning?
    ) throws(Problem) -> EventStreams.Start? {
        let given = try query.value("last_event_id", "must be \(words), \"earliest\" or \"now\"") { find($0, call) }
        var start = given?.start
        // A browser that reconnects sends the same URL and this header. An invalid id is treated like an id that is not in the log.
        if let text = call.request.head.value(of: "Last-Event-ID"), !text.isEmpty {
            start = (find(text, call) ?? Self.unknown).start
        }
        return start
    }

    private func listen<Log: StreamLog>(
        _ call: Call, to streams: LiveStreams<Log>, _ interest: Log.Interest, _ start: LiveStreams<Log>.Start?
    ) throws(Problem) {
        let type = Response.Field("Content-Type", "text/event-stream")
        if call.request.head.method == .head { return call.send(Response(status: 200, headers: [type])) }
        // nginx would buffer the stream.
        let head = call.completed(Response(status: 200, headers: [type, .init("X-Accel-Buffering", "no")]))
        var rules = StreamRules()
        rules.heartbeat = ServerSentEvents.heartbeat
        let listener = Listener(
            streams, interest, start, agent: call.request.head.value(of: "User-Agent"), access, call.principal)
        if !call.responder.stream(head.headers, rules, group: call.app.rawValue, to: listener) { throw .tooManyStreams }
    }
}

extension ResponseStream: StreamOutput {}
extension StreamLoop: StreamThread {}

/// Connects a client's connection, its stream, and its authorization. All mutable state belongs to the streams' thread
/// and is used only there, which is why `@unchecked Sendable` is correct.
private final class Listener<Log: StreamLog>: ResponseStreamDelegate, @unchecked Sendable {
    private let streams: LiveStreams<Log>
    private let interest: Log.Interest
    private let start: LiveStreams<Log>.Start?
    private let agent: String?
    private let access: AccessControl
    private let principal: Principal
    /// From `opened` to `closed`.
    private var stream: LiveStreams<Log>.Stream?

    init(
        _ streams: LiveStreams<Log>, _ interest: Log.Interest, _ start: LiveStreams<Log>.Start?, agent: String?,
        _ access: AccessControl, _ principal: Principal
    ) {
        self.streams = streams
        self.interest = interest
        self.start = start
        self.agent = agent
        self.access = access
        self.principal = principal
    }

    func opened(_ output: ResponseStream) {
        let description = (agent.map { $0.prefix(80) + " at " } ?? "") + output.peer.description
        stream = streams.open(
            interest, description: description, on: output.loop, to: output, start: start)
        access.admitted(output, principal)
    }

    func drained(_ output: ResponseStream) { if let stream { streams.drained(stream) } }

    func closed(_ output: ResponseStream) {
        access.ended(output)
        if let stream { streams.close(stream) }
        stream = nil
    }
}
