import HeraldCore
import HeraldDelivery
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime
import Synchronization

/// Posting events, and dry runs.
final class PostEndpoint: Sendable {
    let hub: Hub
    let checks: SchemaChecks
    private let publish: @Sendable (Publication) -> Void
    /// Reused, because a new one allocates 20 KiB, a third of the cost of accepting an event.
    private let parser = SharedParser()
    private let waits: ReceiverWaits

    /// - Parameter publish: receives parsed and authorized events.
    init(
        hub: Hub, checks: SchemaChecks, waits: ReceiverWaits, publish: @escaping @Sendable (Publication) -> Void
    ) {
        self.hub = hub
        self.waits = waits
        self.checks = checks
        self.publish = publish
    }

    func post(_ call: Call) throws(Problem) {
        let head = call.request.head
        if head.query != nil, try call.query("dry_run").flag("dry_run") {
            // The response contains delegates.
            guard call.principal.scopes.allow(.read) else { throw .forbidden(.read) }
            return try explain(call)
        }
        // A server may ignore a preference (RFC 7240): so does one where too many wait already. With an idempotency key, the
        // response is the one that is stored with the events.
        let waiting = head.has("Idempotency-Key") ? nil : Preference.wait(head).map(WaitingPost.init)
        let began = PublicationTrace(hub.tracer, head)
        let (input, body) = try read(call, head, began)
        let trace = began?.below(input.drafts.first?.event, head)
        guard input.needsCheck else { return try publish(input, body, call, waiting, trace) }
        try check(call, input) { [self] input throws(Problem) in
            try publish(input, body, call, waiting, trace)
            // Outside of a loop's round, the intake must be flushed here.
            hub.flush()
        }
    }

    /// Continues with the input after its data was validated on another thread.
    private func check(
        _ call: Call, _ input: PostInput, then finish: @escaping @Sendable (PostInput) throws(Problem) -> Void
    ) throws(Problem) {
        try checks.pool.run(call) { [checks] budget throws(Problem) in
            try input.check(checks, within: &budget)
        } then: { [checks] checked throws(Problem) in
            var input = input
            try input.record(checked, checks)
            try finish(input)
        }
    }

    private func publish(
        _ input: PostInput, _ body: [UInt8], _ call: Call, _ waiting: WaitingPost?, _ trace: PublicationTrace?
    ) throws(Problem) {
        if input.drafts.isEmpty { return Posting(call, input, nil, trace).accept() }
        guard call.responder.begin() else { return }
        let watch = waiting?.begin(waits, hub, call, events: input.drafts.count, body.count)
        let waiting = watch == nil ? nil : waiting
        let posting = Posting(call, input, waiting, trace)
        waiting?.answer { posted, reports in posting.accept(posted, reports) }
        // Most posts have no key: no closure is allocated for them.
        let idempotency: Idempotency<[PublishedEvent]>? =
            call.request.head.has("Idempotency-Key")
            ? try call.idempotency(of: body) { posting.answer.response($0) } : nil
        publish(
            Publication(
                app: call.app, drafts: input.drafts, idempotency: idempotency,
                watch: watch, span: trace?.span, caller: call.responder.loop, completion: posting.finish))
    }

    /// - Returns: the events, and the body as one JSON document, for every content type.
    private func read(
        _ call: Call, _ head: RequestHead, _ trace: PublicationTrace? = nil
    ) throws(Problem) -> (PostInput, body: [UInt8]) {
        let form = CloudEventInput.Form(head)
        let body = form == .binary ? try CloudEventInput.document(call.request) : call.request.body
        let input = try parser.parse(body) { posted throws(Problem) in
            try PostInput(posted, as: form, EventInput.Context(call, hub, trace), checks)
        }
        return (input, body)
    }

    // MARK: Dry run

    /// Posts nothing: returns which delegates match, and for every other one the clause that does not.
    private func explain(_ call: Call) throws(Problem) {
        let (input, _) = try read(call, call.request.head)
        guard input.drafts.count == 1, !input.isArray, let event = input.drafts.first?.event else {
            throw .invalid([FieldError("", "must be one event: a dry run takes no array")])
        }
        try checks.pool.run(call) { [hub, checks] budget throws(Problem) in
            (try input.check(checks, within: &budget), hub.explain(event, within: &budget))
        } then: { [checks] checked, explanations throws(Problem) in
            var input = input
            try input.record(checked, checks)
            Self.answer(call, event, explanations, warnings: input.warnings.first)
        }
    }

    private static func answer(
        _ call: Call, _ event: Event, _ explanations: [DeliveryExplanation], warnings: [FieldError]?
    ) {
        let matching = explanations.filter { $0.refusal == nil }
        let shown = matching + explanations.filter { $0.refusal != nil }
        call.send { json in
            json.object("event") { $0.head(of: event) }
            json.member("matching", matching.count)
            json.member("not_matching", explanations.count - matching.count)
            json.array("delegates", of: shown.prefix(maxExplanations)) { $1.members(of: $0) }
            json.member(warnings: warnings)
        }
    }

    /// Matching delegates come first.
    private static let maxExplanations = 1_000
}

/// A parsed post that waits for its response. One object, because the completion of the commit holds it.
private final class Posting: Sendable {
    let answer: PostResponse
    private let call: Call
    /// Created on the loop's thread, because the writer's thread is shared by all requests.
    private let accepted: Response
    private let waiting: WaitingPost?
    /// With `trace`, the events.
    private let drafts: [EventDraft]
    private let trace: PublicationTrace?

    init(_ call: Call, _ input: PostInput, _ waiting: WaitingPost?, _ trace: PublicationTrace?) {
        self.call = call
        self.waiting = waiting
        self.trace = trace
        drafts = trace == nil ? [] : input.drafts
        answer = PostResponse(input)
        accepted = call.completed(answer.response(accepting: input.drafts))
    }

    func accept() {
        call.responder.send(accepted)
        trace?.end(accepted.status, drafts, call)
    }

    /// - Parameter reports: all deliveries, if the client waited for them; `nil` after the timeout.
    func accept(_ posted: [PublishedEvent], _ reports: [DeliveryWatch.Report]?) {
        let response =
            if let reports, let waiting { answer.response(posted, reports, waiting) } else { answer.response(posted) }
        send(response)
    }

    /// The loop's thread; the writer's if nothing was published.
    @Sendable func finish(_ result: WriteResult<[PublishedEvent]>) {
        if case .done(let posted) = result, posted.allSatisfy({ $0.disposition == .accepted }) {
            // The response waits for one attempt per delegate, or for the timeout.
            if let waiting { return waiting.committed(posted) }
            // The ids in the log are those of the request.
            if posted.allSatisfy({ $0.event.id == $0.event.publisherID }) { return accept() }
        } else {
            waiting?.giveUp()
        }
        send(call.response(to: result) { answer.response($0) })
    }

    private func send(_ response: Response) {
        guard let trace else { return call.send(response) }
        call.responder.send(call.completed(response))
        trace.end(response.status, drafts, call)
    }
}

/// A post whose client waits until one attempt was made for every delegate (`Prefer: wait`).
///
/// Any thread; the lock guards the state.
private final class WaitingPost: Sendable {
    typealias Handler = @Sendable ([PublishedEvent], [DeliveryWatch.Report]?) -> Void

    private struct State {
        var handler: Handler?
        var posted: [PublishedEvent]?
        /// All attempts were made, or the time is up.
        var isOver = false
        var reports: [DeliveryWatch.Report]?
        /// From `begin` until the response.
        var wait: ReceiverWaits.Wait?
        /// The delivery loops hold it until its time is up, or it is over.
        weak var watch: DeliveryWatch?
    }

    let seconds: Int
    private let state = Mutex(State())

    init(seconds: Int) { self.seconds = seconds }

    /// For the checked events. Begins the time of the wait.
    /// - Parameter bytes: of the body.
    /// - Returns: `nil` if too many wait already.
    func begin(_ waits: ReceiverWaits, _ hub: Hub, _ call: Call, events: Int, _ bytes: Int) -> DeliveryWatch? {
        guard let wait = waits.begin(for: call.app) else { return nil }
        let ended: @Sendable ([DeliveryWatch.Report]?) -> Void = { [self] reports in
            change { state in
                state.isOver = true
                state.reports = reports
            }
        }
        // The request and its events have the body.
        guard
            let watch = hub.watch(
                call.app, events: events, bytes: 2 * bytes, seconds: seconds, completion: ended)
        else { return nil }
        state.withLock { state in
            state.wait = wait
            state.watch = watch
        }
        return watch
    }

    /// Sets the handler of the outcome. Must be called before the events are posted.
    func answer(_ body: @escaping Handler) { state.withLock { $0.handler = body } }

    /// The events are on disk. Attempts may have been made already.
    func committed(_ posted: [PublishedEvent]) { change { $0.posted = posted } }

    /// The request got its response in another way.
    func giveUp() {
        let watch = state.withLock { state in
            state.handler = nil
            state.wait = nil
            return state.watch
        }
        // Without events nothing else would end it before its time.
        watch?.expire()
    }

    private func change(_ body: (inout State) -> Void) {
        let (handler, posted, reports) = state.withLock { state in
            body(&state)
            guard state.isOver, let posted = state.posted else { return (nil, [], nil) as Ended }
            state.wait = nil
            return (state.handler.take(), posted, state.reports)
        }
        handler?(posted, reports)
    }

    private typealias Ended = (Handler?, [PublishedEvent], [DeliveryWatch.Report]?)
}

/// The response to a post.
private struct PostResponse: Sendable {
    private let isArray: Bool
    private let warnings: [[FieldError]]

    init(_ input: PostInput) {
        isArray = input.isArray
        warnings = input.warnings
    }

    /// 202 when the events are durable; 200 for an empty batch.
    func response(accepting drafts: [EventDraft]) -> Response {
        response(drafts.isEmpty ? 200 : 202, drafts.count) {
            PublishedEvent(event: drafts[$0].event, disposition: .accepted)
        }
    }

    /// 200 if all events are duplicates.
    func response(_ posted: [PublishedEvent]) -> Response {
        response(posted.allSatisfy { $0.disposition == .existed } ? 200 : 202, posted.count) { posted[$0] }
    }

    /// 200: one attempt was made for every delegate.
    /// - Parameter reports: the first attempts of all deliveries.
    func response(
        _ posted: [PublishedEvent], _ reports: [DeliveryWatch.Report], _ waiting: WaitingPost
    ) -> Response {
        var response = response(200, posted.count, reports) { posted[$0] }
        response.headers.append(.init("Preference-Applied", "wait=\(waiting.seconds)"))
        return response
    }

    private func response(
        _ status: Int, _ count: Int, _ reports: [DeliveryWatch.Report]? = nil, _ posted: (Int) -> PublishedEvent
    ) -> Response {
        let byEvent = reports.map { Dictionary(grouping: $0, by: \.event.id) }
        var json = JSONWriter(capacity: 256 * count)
        func write(_ index: Int, _ json: inout JSONObjectWriter) {
            let posted = posted(index)
            let event = posted.event
            json.head(of: event)
            json.member("duplicate", posted.disposition == .existed)
            if let time = posted.deliverAt { json.members(ofSchedule: time) }
            if !posted.differences.isEmpty { json.member("differs", posted.differences) }
            if !warnings.isEmpty { json.member(warnings: warnings[index]) }
            guard let byEvent else { return }
            json.array("deliveries", of: byEvent[event.id] ?? []) { $1.members(of: $0) }
        }
        if isArray {
            json.object { answer in
                answer.array("data", of: 0..<count) { write($0, &$1) }
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
    /// The violations of the schema of the event's type; omitted if there are none.
    fileprivate mutating func member(warnings: [FieldError]?) {
        guard let warnings, !warnings.isEmpty else { return }
        array("warnings", of: warnings) { warning, entry in
            entry.member("pointer", warning.pointer)
            entry.member("detail", warning.detail)
        }
    }

    fileprivate mutating func members(of report: DeliveryWatch.Report) {
        let (status, failure, _) = report.outcome.verdict.parts
        member("delegate", report.delegate.id)
        member("state", state(of: report, status).rawValue)
        member("status_code", status)
        member("error", failure?.rawValue)
        member("latency_ms", Double(report.outcome.duration) / 1000)
    }

    /// The state after a first attempt.
    private func state(of report: DeliveryWatch.Report, _ status: Int?) -> DeliveryState {
        if report.outcome.isSuccess { return .delivered }
        if report.outcome.control == .abortMessage || status == 410 { return .dropped }
        let isLast = report.outcome.isRequestNotMade || report.delegate.settings.retrySchedule.isEmpty
        return isLast ? .exhausted : .retrying
    }

    mutating func members(of explanation: DeliveryExplanation) {
        member("delegate", explanation.delegate.id)
        member("url", explanation.delegate.settings.url)
        member("matches", explanation.refusal == nil)
        member("clause", explanation.clause)
        member("reason", explanation.reason)
    }
}
