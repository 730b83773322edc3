import HeraldModel
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldTraces

@Suite("The export of spans", .timeLimit(.minutes(20)))
struct SpanQueueTests {
    private func span(_ number: UInt64) -> EndedSpan {
        EndedSpan(
            span: OpenSpan(
                TraceContext(trace: (1, number), span: number, isSampled: true), parent: 0, startedAt: 0),
            endedAt: 1, work: .commit(events: 1))
    }

    @Test("spans beyond the limit are dropped and counted")
    func limit() throws {
        let queue = try SpanQueue(limit: 3, batch: 2)
        for number in 1...5 { queue.add(span(UInt64(number))) }
        #expect(queue.counts.waiting == 3 && queue.counts.dropped == 2 && queue.takeOverflow() == 2)
        #expect(queue.takeOverflow() == 0)
        #expect(queue.take(within: 60_000)?.map(\.span.context.span) == [1, 2])
        #expect(queue.counts.waiting == 3)
        queue.ended(exported: 2, dropped: 0)
        queue.end()
        #expect(queue.take(within: 60_000)?.map(\.span.context.span) == [3])
        queue.ended(exported: 0, dropped: 1)
        #expect(queue.take(within: 60_000) == nil)
        #expect(queue.counts.exported == 2 && queue.counts.dropped == 3 && queue.counts.waiting == 0)
    }

    @Test(
        "the span of an attempt has the method of the recipe",
        arguments: [(nil, "POST"), ("PUT", "PUT")] as [(String?, String)])
    func method(recipe: String?, method: String) {
        let delegate = WebhookDelegate(1, url: "https://hooks.example/") { settings in
            settings.request = recipe.map { Recipe(stored: Array(#"{"method":"\#($0)"}"#.utf8)) }
        }
        let work = SpanWork.attempt(
            .init(
                delegate: delegate, eventID: "evt_1", eventType: "order.paid", number: 1, isReplay: false,
                verdict: .answered(status: 200, retryAfter: nil), transport: TransportRecord()))
        let ended = EndedSpan(span: span(1).span, endedAt: 1, work: work)
        let text = String(decoding: SpanDocument(resource: [], version: "").bytes([ended]), as: UTF8.self)
        #expect(["POST", "PUT"].filter { text.contains($0) } == [method])
    }

    @Test(
        "the status of a collector decides, however long its response is",
        arguments: [(200, 1), (400, 0)])
    func longResponse(status: Int, exported: Int) async throws {
        let collector = try Receiver { _ in .status(status, body: String(repeating: "x", count: 100_000)) }
        defer { collector.close() }
        let sampler = try #require(Sampler("always_on", ratio: 1))
        var configuration = TraceConfiguration(url: collector.url("/v1/traces"), sampler: sampler)
        configuration.timeoutMilliseconds = 600_000
        configuration.stopMilliseconds = 600_000
        let queue = try SpanQueue(limit: 1, batch: 1)
        queue.add(span(1))
        // With a result that a repetition might change, the spans are dropped at the end.
        queue.end()
        let export = SpanExport(configuration, queue) { _ in }
        await offPool { export.run() }
        #expect(queue.counts.exported == exported && queue.counts.dropped == 1 - exported)
        #expect(collector.requestCount == 1)
    }

    @Test("a collector that refuses each request is reported once a minute")
    func refusals() async throws {
        let collector = try Receiver { _ in .status(401) }
        defer { collector.close() }
        let sampler = try #require(Sampler("always_on", ratio: 1))
        var configuration = TraceConfiguration(url: collector.url("/v1/traces"), sampler: sampler)
        configuration.timeoutMilliseconds = 600_000
        configuration.stopMilliseconds = 600_000
        let queue = try SpanQueue(limit: 3, batch: 1)
        for number in 1...3 { queue.add(span(UInt64(number))) }
        queue.end()
        let changes = Recorder<Traces.Change>()
        let export = SpanExport(configuration, queue) { changes.record($0) }
        await offPool { export.run() }
        #expect(collector.requestCount == 3 && queue.counts.dropped == 3)
        #expect(changes.items == [.refused(spans: 1, reason: "status 401")])
    }

    @Test("what the collector has refused of a request is dropped")
    func partial() {
        let message = Array("full".utf8)
        let success = PartialSuccess([0x0a, UInt8(4 + message.count + 1), 0x08, 0x87, 0x01, 0x12, 4] + message)
        #expect(success.rejected == 135 && success.message == "full")
        for bytes in [[], [0x0a], [0x0a, 0xff], [0x0a, 2, 0x08, 0xff], [7, 7, 7], Array(repeating: 0xff, count: 20)] {
            #expect(PartialSuccess(bytes.map { UInt8($0) }).rejected == 0)
        }
    }

    @Test(
        "the server of a URL is named without its path",
        arguments: [
            ("https://a.example/x?y", "https", "a.example", 443), ("http://a.example:81", "http", "a.example", 81),
            ("http://[::1]/x", "http", "::1", 80), ("https://[::1]:8443/x", "https", "::1", 8443),
        ])
    func servers(url: String, scheme: String, host: String, port: Int) {
        let server = ServerAddress(url)
        #expect(server.scheme == scheme && server.host == host && server.port == port)
    }
}
