import HTTPServer
import Herald
import JSON
import Runtime
import Synchronization

/// Posting events, and asking who would be told of one.
final class PostEndpoint: Sendable {
    let hub: Hub
    let checks: SchemaChecks
    private let publish: @Sendable (Publication) -> Void
    /// Reused, since a fresh one allocates 20 KiB: a third of what accepting an event costs.
    private let parser = SharedParser()

    /// - Parameter publish: takes the events that were read and may be posted.
    init(hub: Hub, checks: SchemaChecks, publish: @escaping @Sendable (Publication) -> Void) {
        self.hub = hub
        self.checks = checks
        self.publish = publish
    }

    func post(_ call: Call) throws(Problem) {
        let head = call.request.head
        if head.query != nil, try call.query("dry_run").flag("dry_run") {
            // The answer shows delegates.
            try call.require(.read)
            return try explain(call)
        }
        let waiting = Preference.wait(head).map(WaitingPost.init)
        let (input, body) = try read(call, head, waiting)
        guard input.needsCheck else { return try publish(input, body, call, waiting) }
        try check(call, input) { [self] input throws(Problem) in
            try publish(input, body, call, waiting)
            // No round of a loop ends here.
            hub.flush()
        }
    }

    /// Goes on with the input once its data was held against the schemas, on another thread.
    private func check(
        _ call: Call, _ input: PostInput, then finish: @escaping @Sendable (PostInput) throws(Problem) -> Void
    ) throws(Problem) {
        try checks.pool.run(call) { [checks] budget throws(Problem) in
            input.check(checks, within: &budget)
        } then: { [checks] checked throws(Problem) in
            var input = input
            try input.note(checked, checks)
            try finish(input)
        }
    }

    private func publish(_ input: PostInput, _ body: [UInt8], _ call: Call, _ waiting: WaitingPost?) throws(Problem) {
        let posting = Posting(call, input, waiting)
        if input.drafts.isEmpty { return posting.accept() }
        // Most posts have no key: no closure is made for them.
        let idempotency: Idempotency<[PostedEvent]>? =
            call.request.head.has("Idempotency-Key")
            ? try call.idempotency(of: body) { posting.answer.response($0) } : nil
        waiting?.answer { reports in
            if let reports { posting.accept(input.drafts, reports) } else { posting.accept() }
        }
        publish(
            Publication(
                app: call.app, drafts: input.drafts, idempotency: idempotency, completion: posting.finish))
    }

    /// - Returns: the events, and the body as one JSON document, whichever way it came.
    private func read(
        _ call: Call, _ head: RequestHead, _ waiting: WaitingPost?
    ) throws(Problem) -> (PostInput, body: [UInt8]) {
        let form = CloudEventInput.Form(head)
        let body = form == .binary ? try CloudEventInput.document(call.request) : call.request.body
        let input = try parser.parse(body) { posted throws(Problem) in
            let watch = waiting?.watch(hub, events: PostInput.count(posted))
            return try PostInput(posted, as: form, context(call, head, watch), checks)
        }
        return (input, body)
    }

    private func context(_ call: Call, _ head: RequestHead, _ watch: DeliveryWatch?) -> EventInput.Context {
        var attributes: [KeyValue] = []
        if let parent = head.value(of: "traceparent"), TraceParent.isValid(parent) {
            attributes.append(KeyValue(TraceParent.name, parent))
        }
        return EventInput.Context(
            app: call.app, now: hub.clock.wall(), ids: hub.ids, attributes: attributes, watch: watch)
    }

    // MARK: Dry run

    /// Posts nothing: who would be told, and what says no for every other one.
    private func explain(_ call: Call) throws(Problem) {
        let (input, _) = try read(call, call.request.head, nil)
        guard input.drafts.count == 1, !input.isArray, let event = input.drafts.first?.event else {
            throw .invalid([FieldError("", "must be one event: a dry run takes no array")])
        }
        try checks.pool.run(call) { [hub, checks] budget throws(Problem) in
            (input.check(checks, within: &budget), hub.explain(event, within: &budget))
        } then: { [checks] checked, explanations throws(Problem) in
            var input = input
            try input.note(checked, checks)
            Self.answer(call, event, explanations, warnings: input.warnings.first)
        }
    }

    private static func answer(
        _ call: Call, _ event: Event, _ explanations: [DeliveryExplanation], warnings: [FieldError]?
    ) {
        let told = explanations.filter { $0.refusal == nil }
        let shown = told + explanations.filter { $0.refusal != nil }
        call.send { json in
            json.object("event") { $0.head(of: event) }
            json.member("told", told.count)
            json.member("not_told", explanations.count - told.count)
            json.array("delegates") { list in
                for explanation in shown.prefix(maxExplanations) {
                    list.object { $0.members(of: explanation) }
                }
            }
            json.member(warnings: warnings)
        }
    }

    /// Those that would be told come first.
    private static let maxExplanations = 1_000
}

/// A post that was read, on its way to its answer. One object, since that which waits for the commit holds it.
private final class Posting: Sendable {
    let answer: PostAnswer
    private let call: Call
    /// Made on the loop's thread, and not on the writer's, whose time is everybody's.
    private let accepted: Response
    private let waiting: WaitingPost?

    init(_ call: Call, _ input: PostInput, _ waiting: WaitingPost?) {
        self.call = call
        self.waiting = waiting
        answer = PostAnswer(input)
        accepted = call.completed(answer.response(accepting: input.drafts))
    }

    func accept() { call.responder.send(accepted) }

    /// - Parameter reports: of all deliveries, for which the client has waited.
    func accept(_ drafts: [EventDraft], _ reports: [DeliveryWatch.Report]) {
        call.responder.send(call.completed(answer.response(accepting: drafts, reports, waiting)))
    }

    /// The writer's thread.
    @Sendable func finish(_ result: WriteResult<[PostedEvent]>) {
        if case .done(let posted) = result, posted.allSatisfy({ $0.fate == .accepted }) {
            // Whoever waits is answered when all were told, or the time is up.
            if waiting == nil { accept() }
        } else {
            call.send(result) { answer.response($0) }
            waiting?.giveUp()
        }
    }
}

/// A post whose client waits until every delegate has been told once (`Prefer: wait`).
///
/// Any thread; the lock guards who is told of the outcome.
private final class WaitingPost: Sendable {
    let seconds: Int
    private let handler = Mutex<(@Sendable ([DeliveryWatch.Report]?) -> Void)?>(nil)

    init(seconds: Int) { self.seconds = seconds }

    /// For the events that are about to be read.
    func watch(_ hub: Hub, events: Int) -> DeliveryWatch? {
        guard events > 0 else { return nil }
        return hub.watch(events: events, seconds: seconds) { [self] reports in takeHandler()?(reports) }
    }

    /// Who is told of the outcome. To be called before the events are posted.
    func answer(_ body: @escaping @Sendable ([DeliveryWatch.Report]?) -> Void) { handler.withLock { $0 = body } }

    /// The request was answered otherwise.
    func giveUp() { _ = takeHandler() }

    private func takeHandler() -> (@Sendable ([DeliveryWatch.Report]?) -> Void)? {
        handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
    }
}

/// The answer to a post.
private struct PostAnswer: Sendable {
    private let isArray: Bool
    private let warnings: [[FieldError]]

    init(_ input: PostInput) {
        isArray = input.isArray
        warnings = input.warnings
    }

    /// 202 once it is durable; 200 when all delegates have been told, or there is nobody to tell of anything.
    /// - Parameter reports: the first attempts of all deliveries, when the client has waited for them.
    func response(
        accepting drafts: [EventDraft], _ reports: [DeliveryWatch.Report]? = nil, _ waiting: WaitingPost? = nil
    ) -> Response {
        let isOver = reports != nil || drafts.isEmpty
        var response = response(isOver ? 200 : 202, drafts.count, reports) { drafts[$0].event }
        if reports != nil, let waiting {
            response.headers.append(.init("Preference-Applied", "wait=\(waiting.seconds)"))
        }
        return response
    }

    /// 200 when all of it had been posted before.
    func response(_ posted: [PostedEvent]) -> Response {
        response(posted.allSatisfy { $0.fate == .existed } ? 200 : 202, posted.count) { posted[$0].event }
    }

    private func response(
        _ status: Int, _ count: Int, _ reports: [DeliveryWatch.Report]? = nil, _ event: (Int) -> Event
    ) -> Response {
        let byEvent = reports.map { Dictionary(grouping: $0, by: \.event.id) }
        var json = JSONWriter(capacity: 256 * count)
        func write(_ index: Int, _ json: inout JSONObjectWriter) {
            let event = event(index)
            json.head(of: event)
            if !warnings.isEmpty { json.member(warnings: warnings[index]) }
            guard let byEvent else { return }
            json.array("deliveries") { list in
                for report in byEvent[event.id] ?? [] { list.object { $0.members(of: report) } }
            }
        }
        if isArray {
            json.object { answer in
                answer.array("data") { data in
                    for index in 0..<count { data.object { write(index, &$0) } }
                }
            }
        } else {
            json.object { write(0, &$0) }
        }
        var headers: [Response.Field] = []
        headers.reserveCapacity(3)
        headers.append(.init("Content-Type", "application/json"))
        return Response(status: status, headers: headers, body: json.bytes)
    }
}

extension JSONObjectWriter {
    /// What the schema of the event's type says against it; nothing when it says nothing.
    fileprivate mutating func member(warnings: [FieldError]?) {
        guard let warnings, !warnings.isEmpty else { return }
        array("warnings") { list in
            for warning in warnings {
                list.object {
                    $0.member("pointer", warning.pointer)
                    $0.member("detail", warning.detail)
                }
            }
        }
    }

    fileprivate mutating func members(of report: DeliveryWatch.Report) {
        var status: Int?
        var failure: CallbackFailure?
        switch report.outcome.verdict {
        case .answered(let answered, _): status = answered
        case .failed(let reason, _): failure = reason
        }
        member("delegate", report.delegate.id)
        member("state", state(of: report, status).rawValue)
        member("status_code", status)
        member("error", failure?.rawValue)
        member("latency_ms", Double(report.outcome.duration) / 1000)
    }

    /// What follows from a first attempt.
    private func state(of report: DeliveryWatch.Report, _ status: Int?) -> DeliveryState {
        if report.outcome.isSuccess { return .delivered }
        if report.outcome.control == .abortMessage || status == 410 { return .dropped }
        return report.delegate.settings.retrySchedule.isEmpty ? .exhausted : .retrying
    }

    fileprivate mutating func members(of explanation: DeliveryExplanation) {
        let delegate = explanation.delegate
        member("delegate", delegate.id)
        member("url", delegate.settings.url)
        member("told", explanation.refusal == nil)
        var pointer: String?
        var detail: String?
        switch explanation.refusal {
        case nil: detail = delegate.status == .paused ? "once it is resumed" : nil
        case .events: (pointer, detail) = ("/events", "none of its patterns matches the type")
        case .subjects: (pointer, detail) = ("/subjects", "the event is about none of its subjects")
        case .filter(let mismatch): (pointer, detail) = ("/filter" + mismatch.pointer, mismatch.words)
        case .status: (pointer, detail) = ("/status", "it is \(delegate.status.rawValue): nothing is sent")
        }
        member("clause", pointer)
        member("reason", detail)
    }
}

extension FilterMismatch {
    fileprivate var words: String { "expected \(expected), found \(found)" }
}
