import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldAPI

@Suite("A pull that gets no events", .timeLimit(.minutes(20)))
struct RefusedPullTests {
    private static let operatorKey = "an operator's key of these tests"

    private let clock = ManualClock()
    private let hub: Hub
    private let server: HTTPServer

    init() throws {
        var sizes = Hub.Configuration()
        sizes.readers = 1
        hub = try Hub.inMemory(configuration: sizes, clock: clock.clock)
        var configuration = HeraldService.Configuration()
        configuration.operatorKey = Self.operatorKey
        var serving = HTTPServerConfiguration(maxBodyBytes: PublicationLimits.defaultBytes)
        // A test whose thread waits for others must not be cut off.
        serving.requestDeadlineSeconds = 600
        server = try HTTPServer(serving, handler: HeraldService(hub: hub, configuration: configuration))
    }

    private static func request(
        _ method: String, _ path: String, key: String = operatorKey, body: String = ""
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(key)\r\n"
            + (body.isEmpty ? "" : "Content-Type: application/json\r\n")
            + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    private func send(
        _ method: String, _ path: String, key: String = operatorKey, body: String = ""
    ) async throws -> (status: Int, json: JSONDocument?) {
        let request = Self.request(method, path, key: key, body: body)
        let response = try #require(try await RawHTTP.response(to: request, port: server.port))
        return (response.status, try? JSONDocument(parsing: response.body))
    }

    /// - Returns: the path of the pulls of a new delegate.
    private func register() async throws -> String {
        let made = try await send("POST", "/v1/delegates", body: #"{"kind": "pull", "events": ["order.*"]}"#)
        return "/v1/delegates/\(try #require(made.json?["id"]?.string))/pull"
    }

    private func publish() async throws {
        #expect(try await send("POST", "/v1/events", body: #"{"type": "order.paid", "id": "o1"}"#).status == 202)
    }

    /// Keeps the only reader busy until the flag is set.
    private func holdReader() async throws -> Flag {
        let (begun, gate) = (Flag(), Flag())
        let isHeld = hub.read(app: .default) { _ in
            begun.set()
            try? blockUntil("the test has sent its requests") { gate.isSet }
        }
        #expect(isHeld)
        try await eventually("the only reader is busy") { begun.isSet }
        return gate
    }

    private func stop() async {
        server.stop()
        await offPool { [hub] in hub.stop(grace: 0) }
    }

    @Test("because its key is revoked while it searches gives back what it has found, before its response")
    func revoked() async throws {
        let path = try await register()
        let made = try await send("POST", "/v1/keys", body: #"{"name": "k", "scopes": ["consume"]}"#)
        let key = try #require(made.json?["key"]?.string)
        let gate = try await holdReader()
        defer { gate.set() }
        let waiting = hub.readsWaiting
        async let pulled = send("POST", path, key: key)
        try await eventually("the pull waits for the reader") { [hub] in hub.readsWaiting > waiting }
        #expect(try await send("DELETE", "/v1/keys/\(try #require(made.json?["id"]?.string))").status == 204)
        try await publish()
        gate.set()
        #expect(try await pulled.status == 401)

        let next = try #require(try await send("POST", path).json)
        #expect(next["events"]?.elements.map { $0["id"]?.string } == ["o1"])
        #expect(next["events"]?.elements.map { $0["attempt"]?.integer } == [1])
        await stop()
    }

    @Test("because the store was silent for too long gives back what it finds later")
    func late() async throws {
        let path = try await register()
        let gate = try await holdReader()
        defer { gate.set() }
        let waiting = hub.readsWaiting
        async let pulled = send("POST", path)
        try await eventually("the pull waits for the reader") { [hub] in hub.readsWaiting > waiting }
        try await publish()
        clock.advance(seconds: 4.5)
        #expect(try await pulled.status == 503)
        gate.set()
        try await eventually("the next pull gets the event") { [port = server.port] in
            let client = try RawHTTPClient(port: port, sending: Self.request("POST", path))
            return try client.readResponse().map { String(decoding: $0.body, as: UTF8.self).contains("o1") } ?? false
        }
        await stop()
    }
}
