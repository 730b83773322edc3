import Glibc
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Posts the lines of standard input in batches: of the maximum size if input is waiting, and at once if it arrives
/// slowly.
struct BatchPublisher {
    /// How often in a row a busy or lost server is tried again, and the longest pause.
    private static let maxTries = 20
    private static let maxPauseSeconds = 60

    private struct Line {
        let number: Int
        let event: [UInt8]
        let hasID: Bool
    }

    private let client: APIClient
    private let ids = ULIDGenerator()
    private let isJSON: Bool
    /// The limit of a request. Halved when the server refuses the size.
    private var maxBytes = PublicationLimits.defaultBytes
    private var published = 0
    /// The number of published events that were stored before.
    private var duplicates = 0
    private var lastLine: Int?
    /// The response to a batch was lost, and no later one said that its events are on disk. A later refusal does not
    /// say whether the first request was carried out.
    private var isUnknown = false
    private var progress = ProgressLine()
    private let startedAt = Clock.system.monotonic()
    private var shownAt = Int64.min
    private var reader = LineReader()
    private var batch: [Line] = []
    private var batchBytes = 2

    init(_ call: Invocation, _ client: APIClient) {
        self.client = client
        isJSON = call.has("json")
    }

    /// Runs until the end of the input.
    mutating func run() throws(CommandError) {
        do throws(CommandError) {
            while let line = try reader.next() {
                try add(line)
                if batch.count == PublicationLimits.maxEvents || !reader.isReady { try flush() }
            }
            try flush()
        } catch {
            progress.end()
            guard !error.description.isEmpty else { throw error }
            let last = lastLine.map { ", the last of them that of line \($0)" } ?? ""
            let rest = isUnknown ? " Whether the next ones are, too, is not known." : ""
            throw CommandError(
                "\(error.description)\nStopped. \(Self.count(published)) on disk\(last).\(rest)",
                exitCode: error.exitCode)
        }
        progress.end()
        if !isJSON {
            let before = duplicates == 0 ? "" : ", \(duplicates) of them from before"
            try Output.line("\(Self.count(published)) on disk\(before).")
        }
    }

    private static func count(_ events: Int) -> String { events == 1 ? "1 event is" : "\(events) events are" }

    private mutating func add(_ line: [UInt8]) throws(CommandError) {
        // Empty lines, such as the last one, are not events.
        guard line.contains(where: { $0 != 32 && $0 != 9 && $0 != 13 }) else { return }
        let event: JSONValue
        do throws(JSONError) {
            event = try JSONDocument(parsing: line, limits: JSONLimits(depth: 80, values: 200_000)).root
        } catch {
            throw try refusal("JSON: \(error.reason), column \(error.column)")
        }
        guard event.kind == .object else { throw try refusal("a JSON object") }
        if batchBytes + line.count + 1 > maxBytes { try flush() }
        batch.append(Line(number: reader.number, event: line, hasID: event["id"]?.isNull == false))
        batchBytes += line.count + 1
    }

    /// Publishes the lines before the current one, which are valid.
    private mutating func refusal(_ form: String) throws(CommandError) -> CommandError {
        try flush()
        return CommandError("Line \(reader.number) is not \(form).", exitCode: ExitCode.data)
    }

    private mutating func flush() throws(CommandError) {
        let events = batch
        batch.removeAll()
        batchBytes = 2
        if !events.isEmpty { try post(events[...]) }
    }

    private mutating func post(_ events: ArraySlice<Line>) throws(CommandError) {
        let body =
            [UInt8(ascii: "[")] + events.map(\.event).joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
        let answer = try ask(Array(body), needsKey: !events.allSatisfy(\.hasID))
        if answer.status == 413 && events.count > 1 {
            maxBytes = max(1024, body.count / 2)
            let middle = events.startIndex + events.count / 2
            try post(events[..<middle])
            return try post(events[middle...])
        }
        guard (200..<300).contains(answer.status) else { throw refusal(answer, events.map(\.number)) }
        let json = try client.document(answer.body)
        guard let data = json["data"], data.count == events.count else {
            throw client.notHerald("its response has not one entry for each event")
        }
        isUnknown = false
        published += events.count
        lastLine = events.last?.number
        showProgress()
        for event in data.elements {
            if isJSON { try Output.line(json: event.bytes) }
            if event["duplicate"]?.bool == true { duplicates += 1 }
        }
    }

    /// Ten times in a second at most.
    private mutating func showProgress() {
        let now = Clock.system.monotonic()
        guard shownAt <= now - 100_000_000 else { return }
        shownAt = now
        let (count, seconds) = (published, max(0.001, Double(now - startedAt) / 1e9))
        progress.show("\(count) events, \(Int(Double(count) / seconds)) per second")
    }

    /// Repeats the request while the server is busy, or was lost. It may not be known whether the request was carried out: events
    /// without an id would be published again, if it had no key. (The server stores the response to a key, for nothing if all have
    /// ids.)
    private mutating func ask(_ body: [UInt8], needsKey: Bool) throws(CommandError) -> HTTPResponse {
        let key: [(name: String, value: String)] =
            needsKey ? [("Idempotency-Key", ids.next("batch_", time: Clock.system.wall()))] : []
        let request = client.request("POST", ["v1", "events"], body: body, headers: key)
        var tries = 1
        while true {
            var pause = 1
            do throws(HTTPClientError) {
                let answer = try client.perform(request)
                let problem = Problem(answer, to: client)
                // From a proxy whose server restarts: the request may have reached it.
                let isLost = [502, 504].contains(answer.status)
                if isLost { isUnknown = true }
                guard problem.isTemporary || isLost, tries < Self.maxTries else { return answer }
                pause = problem.retryAfter ?? 1
            } catch {
                if case .failed = error { isUnknown = true }
                // At the begin, it is more likely that the address is wrong.
                guard published > 0, tries < Self.maxTries else { throw client.unreachable(error) }
            }
            tries += 1
            sleep(UInt32(min(max(pause, 1), Self.maxPauseSeconds)))
        }
    }

    /// Replaces pointers into the request with line numbers.
    private func refusal(_ answer: HTTPResponse, _ lines: [Int]) -> CommandError {
        var problem = Problem(answer, to: client)
        problem.errors = problem.errors.map { place, detail in
            guard let event = Problem.event(at: place, of: lines.count) else { return (place, detail) }
            return ("Line \(lines[event.index])" + (event.rest.map { ": \($0)" } ?? ""), detail)
        }
        return problem.error
    }
}
