import HeraldTestSupport
import Synchronization
import Testing

@Suite("A delegate and its neighbours", .timeLimit(.minutes(20)), .serialized)
struct NeighbourTests {
    /// When each event arrived, in seconds.
    private final class Arrivals: Sendable {
        private let times = Mutex<[String: Double]>([:])
        func record(_ request: ReceivedRequest) {
            let now = monotonicSeconds()
            times.withLock { $0[request.header("webhook-id") ?? ""] = now }
        }
        subscript(event: String) -> Double? { times.withLock { $0[event] } }
    }

    /// A server with a fast delegate.
    private struct Side {
        let herald: HeraldProcess
        let receiver: Receiver
        let arrivals = Arrivals()

        init() async throws {
            herald = try await HeraldProcess.start()
            receiver = try Receiver { [arrivals] request in
                arrivals.record(request)
                return .status(200)
            }
            _ = try await herald.register(receiver.url())
        }
    }

    /// Publishes one event after the other, to both sides in turn so that both have the same weather, and returns how
    /// long each took from before its post until it arrived, in milliseconds, sorted.
    private func latencies(_ sides: [Side], count: Int) async throws -> [[Double]] {
        try await RawHTTP.onThread {
            let clients = try sides.map { try RawHTTPClient(port: $0.herald.port) }
            var latencies: [[Double]] = sides.map { _ in [] }
            for number in 0..<count {
                for (index, side) in sides.enumerated() {
                    let id = "n\(number)"
                    let body = #"{"type": "neighbour.test", "id": "\#(id)"}"#
                    let started = monotonicSeconds()
                    clients[index].send(
                        "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                    guard try clients[index].readResponse()?.status == 202 else {
                        throw HeraldFailure(what: "not posted")
                    }
                    let arrival: Double = try blockUntil("\(id) arrives") { side.arrivals[id] }
                    latencies[index].append((arrival - started) * 1000)
                }
            }
            return latencies.map { $0.sorted() }
        }
    }

    @Test("dead and hanging delegates delay no others: all events arrive before the first timeout")
    func deadNeighbours() async throws {
        let alone = try await Side()
        let beside = try await Side()
        defer {
            alone.receiver.close()
            beside.receiver.close()
        }
        let gate = ReceiverGate()
        let hanging = try Receiver { _ in .held(gate) }
        defer { hanging.close() }
        defer { gate.open() }
        // Ten never answer, ten refuse every connection.
        var ids: [String] = []
        for number in 0..<10 {
            ids.append(try await beside.herald.register(hanging.url("/\(number)"), #""timeout_seconds": 60"#).id)
            _ = try await beside.herald.register(
                "http://127.0.0.1:9/\(number)", #""retry_schedule": [0.01, 0.01, 0.01]"#)
        }
        // Few enough to be over before the first delivery is given up, on a slow machine too.
        let count = 60
        let figures = try await latencies([alone, beside], count: count)
        for share in [50, 99] {
            let (before, after) = (figures[0][count * share / 100 - 1], figures[1][count * share / 100 - 1])
            print(
                "p\(share) of publish to arrival: \(rounded(before)) ms alone, \(rounded(after)) ms beside 20 dead ones, "
                    + "ratio \(rounded(after / before))")
        }
        #expect(beside.receiver.requests.count == count)
        for id in ids {
            #expect(try await beside.herald.get("/v1/delegates/\(id)/attempts").data.isEmpty, "none has timed out yet")
        }
        #expect(hanging.requests.count <= 40, "an unresponsive delegate must hold few connections")
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}
