import HeraldTestSupport
import Testing

@Suite("Recorded requests of the receiver", .timeLimit(.minutes(20)))
struct RecordingTests {
    private func get(_ port: UInt16, _ path: String) async throws {
        _ = try await RawHTTP.response(to: "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
    }

    @Test("can be awaited, by number and by condition")
    func awaited() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        async let two = receiver.requests(2)
        async let last = receiver.requests { $0.contains { $0.path == "/3" } }
        for number in 1...3 { try await get(receiver.port, "/\(number)") }
        #expect(await two.count >= 2)
        let requests = await last
        #expect(requests.map(\.path) == ["/1", "/2", "/3"])
        #expect(requests.map(\.connection) == [1, 2, 3])
        #expect(zip(requests, requests.dropFirst()).allSatisfy { $0.receivedAt <= $1.receivedAt })
    }

    @Test("waiting ends with cancellation, and with the receiver")
    func freed() async throws {
        let receiver = try Receiver()
        let cancelled = Task { await receiver.requests(1000) }
        cancelled.cancel()
        #expect(await cancelled.value.isEmpty)
        async let waiting = receiver.requests(1000)
        receiver.close()
        #expect(await waiting.isEmpty)
        receiver.close()
        #expect(await receiver.requests(1).isEmpty)
    }

    @Test("are kept up to a limit, and counted beyond it")
    func limited() async throws {
        var configuration = Receiver.Configuration()
        configuration.maxRecordedRequests = 2
        let receiver = try Receiver(configuration) { _ in .status(200) }
        defer { receiver.close() }
        for number in 1...3 { try await get(receiver.port, "/\(number)") }
        #expect(receiver.requests.map(\.path) == ["/1", "/2"])
        #expect(receiver.requestCount == 3)
    }

    @Test("a port is free as soon as its receiver is closed, and a port in use is an error")
    func ports() async throws {
        let first = try Receiver(port: try unusedPort())
        #expect(throws: ReceiverError.self) { try Receiver(port: first.port) }
        first.close()
        let second = try Receiver(port: first.port)
        try await get(second.port, "/")
        second.close()
        #expect(second.requests.count == 1)
        #expect(throws: ReceiverError.self) { try Receiver(address: "localhost") }
    }
}
