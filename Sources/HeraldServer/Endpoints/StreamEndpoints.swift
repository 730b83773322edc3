public import HTTPServer
public import Herald
import JSON

/// Listening: events as they are posted.
struct StreamEndpoints: Sendable {
    let streams: EventStreams
    let access: AccessControl

    var routes: [Route] { [Route(.get, "/v1/events/stream", needs: .read, isStream: true, listen)] }

    private func listen(_ call: Call) throws(Problem) {
        let query = try call.query("events", "subjects", "last_event_id")
        let interest = try interest(query, call.app)
        var place = LogPlace.now
        if let text = query["last_event_id"] {
            guard let given = LogPlace(text) else {
                throw .invalidParameter("last_event_id", "must be \(LogPlace.words), \"earliest\" or \"now\"")
            }
            place = given
        }
        // A browser that connects again sends the same address and, newer than that, this.
        if let text = call.request.head.value(of: "Last-Event-ID"), !text.isEmpty {
            // What is no id at all is one that the log doesn't have.
            place = LogPlace(text) ?? .event(id: "")
        }
        let type = Response.Field("Content-Type", "text/event-stream")
        if call.request.head.method == .head { return call.send(Response(status: 200, headers: [type])) }
        // nginx would gather what is to arrive now.
        let head = call.completed(Response(status: 200, headers: [type, .init("X-Accel-Buffering", "no")]))
        var rules = StreamRules()
        rules.heartbeat = StreamFormat.heartbeat
        let listener = Listener(streams, interest, place, agent: call.request.head.value(of: "User-Agent"))
        if !call.responder.stream(head.headers, rules, to: AdmittedStream(access, call.principal, listener)) {
            throw .tooManyStreams
        }
    }

    private func interest(_ query: Query, _ app: AppKey) throws(Problem) -> StreamInterest {
        var wrong: [Problem.Item] = []
        var patterns: [EventPattern] = [.any]
        if let text = query["events"] {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { EventPattern(String($0)) }
            patterns = parts.compactMap(\.self)
            if patterns.count != parts.count || patterns.count > Self.maxPatterns {
                wrong.append(
                    .init(
                        place: .parameter("events"),
                        detail: "must be 1 to \(Self.maxPatterns) of auth.logged_in, auth.* or *, separated by commas"))
            }
        }
        var subjects: [String] = []
        if let text = query["subjects"] {
            subjects = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            if subjects.count > Self.maxSubjects || subjects.contains(where: { $0.isEmpty || $0.count > 256 }) {
                wrong.append(
                    .init(
                        place: .parameter("subjects"),
                        detail: "must be 1 to \(Self.maxSubjects) subjects of 1 to 256 characters, separated by commas")
                )
            }
        }
        guard wrong.isEmpty else { throw .validation(wrong) }
        return StreamInterest(app: app, events: patterns, subjects: Set(subjects))
    }

    /// As for webhooks.
    private static let maxPatterns = 64
    private static let maxSubjects = 1_000
}

extension ResponseStream: StreamOutput {}
extension StreamLoop: StreamThread {}

/// Brings a client's connection and its stream together. All but the constants belongs to the streams' thread:
/// nobody else touches what changes, which is why it may cross threads (`@unchecked Sendable`).
private final class Listener: ResponseStreamDelegate, @unchecked Sendable {
    private let streams: EventStreams
    private let interest: StreamInterest
    private let place: LogPlace
    private let agent: String?
    /// From `opened` to `closed`.
    private var stream: EventStream?

    init(_ streams: EventStreams, _ interest: StreamInterest, _ place: LogPlace, agent: String?) {
        self.streams = streams
        self.interest = interest
        self.place = place
        self.agent = agent
    }

    func opened(_ output: ResponseStream) {
        let description = (agent.map { $0.prefix(80) + " at " } ?? "") + output.peer.description
        stream = streams.open(
            interest, description: description, on: output.loop, to: output, start: Self.start(place, interest.app))
    }

    func drained(_ output: ResponseStream) { if let stream { streams.drained(stream) } }

    func closed(_ output: ResponseStream) {
        if let stream { streams.close(stream) }
        stream = nil
    }

    /// Finds the place after which to begin.
    private static func start(
        _ place: LogPlace, _ app: AppKey
    ) -> (@Sendable (any StoreReader) throws(StoreError) -> Sequence?)? {
        switch place {
        case .now: nil
        case .earliest: { reader throws(StoreError) in try reader.firstEvent() - 1 }
        case .time(let time): { reader throws(StoreError) in try reader.sequence(since: time) - 1 }
        case .event(let id): { reader throws(StoreError) in try reader.event(app: app, id: id)?.sequence }
        }
    }
}
