import Synchronization
import TestSupport
import Testing

@Suite("A delegate and its neighbours", .serialized)
struct NeighbourTests {
    /// When each event arrived, in seconds.
    private final class Arrivals: Sendable {
        private let times = Mutex<[String: Double]>([:])
        func note(_ request: ReceivedRequest) {
            let now = monotonicSeconds()
            times.withLock { $0[request.header("webhook-id") ?? ""] = now }
        }
        subscript(event: String) -> Double? { times.withLock { $0[event] } }
    }

    /// Publishes one after the other, and returns how long each took from before its post until it arrived, sorted.
    private func latencies(_ herald: HeraldProcess, _ arrivals: Arrivals, count: Int) async throws -> [Double] {
        try await RawHTTP.onThread { [port = herald.port] in
            let client = try RawHTTPClient(port: port)
            var latencies: [Double] = []
            for number in 0..<count {
                let id = "n\(number)-\(monotonicSeconds().bitPattern)"
                let body = #"{"type": "neighbour.test", "id": "\#(id)"}"#
                let started = monotonicSeconds()
                client.send(
                    "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                guard try client.readResponse()?.status == 202 else { throw HeraldFailure(what: "not posted") }
                while arrivals[id] == nil {
                    if monotonicSeconds() > started + 20 { throw HeraldFailure(what: "\(id) did not arrive") }
                    briefPause()
                }
                latencies.append((arrivals[id] ?? .infinity) - started)
            }
            return latencies.sorted()
        }
    }

    @Test("dead and hanging delegates delay nobody: all has arrived before the first of them timed out")
    func deadNeighbours() async throws {
        let herald = try await HeraldProcess.start()
        let arrivals = Arrivals()
        let fast = try Receiver { request in
            arrivals.note(request)
            return .status(200)
        }
        defer { fast.close() }
        let gate = ReceiverGate()
        let hanging = try Receiver { _ in .held(gate) }
        defer { hanging.close() }
        defer { gate.open() }
        _ = try await herald.register(fast.url())
        let alone = try await latencies(herald, arrivals, count: 1000)

        // Ten never answer, ten refuse every connection.
        for number in 0..<10 {
            _ = try await herald.register(hanging.url("/\(number)"), #""timeout_seconds": 60"#)
            _ = try await herald.register("http://127.0.0.1:9/\(number)", #""retry_schedule": [0.01, 0.01, 0.01]"#)
        }
        let beside = try await latencies(herald, arrivals, count: 1000)
        func figure(_ sorted: [Double], _ share: Double) -> Double {
            sorted[Int(Double(sorted.count - 1) * share)] * 1000
        }
        for share in [0.5, 0.99] {
            let (before, after) = (figure(alone, share), figure(beside, share))
            print(
                "p\(Int(share * 100)) of publish to arrival: \(rounded(before)) ms alone, \(rounded(after)) ms beside "
                    + "20 dead ones, ratio \(rounded(after / before))")
        }
        // None of the sixty seconds of a hanging one is over: its first attempts are open still.
        #expect(try await herald.get("/metrics").text.contains("herald_attempts_total{outcome=\"succeeded\"} 2000\n"))
        #expect(hanging.requests.count <= 40, "an unresponsive delegate must hold few connections")
        #expect(fast.requests.count == 2000)
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
