import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// Sends the spans of a queue to a collector, as the thread of the export.
struct SpanExport: Sendable {
    private enum Result {
        /// `refused`: the number of spans that the collector has not taken.
        case taken(refused: Int, reason: String)
        /// A repetition of the request is refused, too.
        case refused(reason: String)
        /// It may succeed later. `after`: the pause that the collector requests, in seconds.
        case failed(reason: String, after: Int?)
    }

    /// The statuses with which the protocol requests another attempt.
    private static let temporary: Set = [429, 502, 503, 504]
    /// The longest pause that a collector may request, in seconds.
    private static let maxRequestedPause = 60
    private static let maxReasonBytes = 200
    /// Between two reports of too many spans, and between two of refused ones, in nanoseconds.
    private static let reportInterval: Int64 = 60_000_000_000

    private let configuration: TraceConfiguration
    private let queue: SpanQueue
    private let report: @Sendable (Traces.Change) -> Void
    private let document: SpanDocument

    init(
        _ configuration: TraceConfiguration, _ queue: SpanQueue, _ report: @escaping @Sendable (Traces.Change) -> Void
    ) {
        self.configuration = configuration
        self.queue = queue
        self.report = report
        document = SpanDocument(resource: configuration.resource, version: configuration.version)
    }

    /// Returns after the end of the queue.
    func run() {
        var client: HTTPClient?
        var (nextReport, nextRefusal) = (Int64.min, Int64.min)
        var refused = 0
        while let spans = queue.take(within: configuration.delayMilliseconds) {
            let refusal = send(spans, &client)
            let now = Clock.system.monotonic()
            // A collector with another path or key refuses each batch.
            refused += refusal.spans
            if refusal.spans > 0, now >= nextRefusal {
                report(.refused(spans: refused, reason: refusal.reason))
                refused = 0
                nextRefusal = now + Self.reportInterval
            }
            guard now >= nextReport else { continue }
            let dropped = queue.takeOverflow()
            guard dropped > 0 else { continue }
            report(.tooMany(dropped: dropped))
            nextReport = now + Self.reportInterval
        }
    }

    /// Sends a batch until the collector has taken or refused it; after the end of the queue, once.
    /// - Returns: the number of spans that were refused.
    private func send(_ spans: [EndedSpan], _ client: inout HTTPClient?) -> (spans: Int, reason: String) {
        let body = document.bytes(spans)
        var pause = configuration.pauseMilliseconds
        var isFailing = false
        while true {
            switch request(body, &client) {
            case .taken(let rejected, let reason):
                let refused = min(rejected, spans.count)
                queue.ended(exported: spans.count - refused, dropped: refused)
                if isFailing { report(.working(dropped: queue.takeOverflow())) }
                return (refused, reason)
            case .refused(let reason):
                queue.ended(exported: 0, dropped: spans.count)
                return (spans.count, reason)
            case .failed(let reason, let after):
                guard !queue.isEnding else {
                    queue.ended(exported: 0, dropped: spans.count)
                    return (spans.count, reason)
                }
                if !isFailing { report(.failing(reason: reason)) }
                isFailing = true
                queue.pause(milliseconds: after.map { Int32($0) * 1000 } ?? pause)
                pause = min(2 * pause, configuration.maxPauseMilliseconds)
            }
        }
    }

    private func request(_ body: [UInt8], _ client: inout HTTPClient?) -> Result {
        do throws(HTTPClientError) {
            let used: HTTPClient
            if let client {
                used = client
            } else {
                var settings = HTTPClient.Configuration(
                    userAgent: "herald/\(configuration.version)",
                    certificateAuthorities: configuration.certificateAuthorities)
                settings.maxBodyBytes = 65_536
                used = try HTTPClient(settings)
            }
            client = used
            var request = HTTPRequest("POST", configuration.url, body: body)
            request.headers = [("Content-Type", "application/x-protobuf")]
            request.headers += configuration.headers.map { ($0.key, $0.value) }
            let limit = configuration.timeoutMilliseconds
            request.timeoutMilliseconds = queue.isEnding ? min(limit, Int(configuration.stopMilliseconds)) : limit
            let response = try used.send(request)
            let after = response.header("retry-after").flatMap { Int($0) }
            return result(of: response.status, response.body, after: after)
        } catch {
            // A repetition of the request would get the same response.
            if case .tooLarge(_, let status) = error { return result(of: status, [], after: nil) }
            return .failed(reason: error.description, after: nil)
        }
    }

    /// - Parameter after: the pause that the collector requests, in seconds.
    private func result(of status: Int, _ body: [UInt8], after: Int?) -> Result {
        let reason = "status \(status)"
        if (200...299).contains(status) {
            let refusal = PartialSuccess(body)
            return .taken(refused: refusal.rejected, reason: String(refusal.message.prefix(Self.maxReasonBytes)))
        }
        guard Self.temporary.contains(status) else { return .refused(reason: reason) }
        return .failed(reason: reason, after: after.map { min(max($0, 1), Self.maxRequestedPause) })
    }
}

/// The response of a collector, `ExportTraceServiceResponse`: how many spans of the request it has not taken.
struct PartialSuccess {
    private(set) var rejected = 0
    private(set) var message = ""

    /// A response that is none counts as a success, as the status says.
    init(_ bytes: [UInt8]) {
        var response = ProtobufReader(bytes[...])
        while let field = response.next() {
            guard field.number == 1, case .bytes(let inner) = field.value else { continue }
            var part = ProtobufReader(inner)
            while let field = part.next() {
                switch (field.number, field.value) {
                case (1, .number(let number)): rejected = Int(clamping: number)
                case (2, .bytes(let text)): message = String(decoding: text, as: UTF8.self)
                default: break
                }
            }
        }
    }
}

/// Reads the fields of a message in the encoding of Protocol Buffers. Ends at the first malformed one.
private struct ProtobufReader {
    enum Value {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    private mutating func take(_ count: UInt64) -> Value? {
        guard count <= UInt64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return .bytes(rest.prefix(Int(count)))
    }

    mutating func next() -> (number: UInt64, value: Value)? {
        guard let tag = varint() else { return nil }
        let value: Value?
        switch tag & 7 {
        case 0: value = varint().map { .number($0) }
        case 1: value = take(8)
        case 2: value = varint().flatMap { take($0) }
        case 5: value = take(4)
        default: value = nil
        }
        return value.map { (tag >> 3, $0) }
    }
}
