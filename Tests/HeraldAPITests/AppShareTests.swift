import HeraldCore
import HeraldHTTP
import HeraldModel
import HeraldTestSupport
import Testing

@testable import HeraldAPI

@Suite("What an app takes leaves some for others", .timeLimit(.minutes(20)))
struct AppShareTests {
    private static let operatorKey = "an operator's key of these tests"
    private static let maxStreams = 8

    private let hub: Hub
    private let server: HTTPServer

    init() throws {
        var sizes = Hub.Configuration()
        sizes.readers = 1
        hub = try Hub.inMemory(configuration: sizes)
        var configuration = HeraldService.Configuration()
        configuration.operatorKey = Self.operatorKey
        var serving = HTTPServerConfiguration(maxBodyBytes: PublicationLimits.defaultBytes)
        serving.maxStreams = Self.maxStreams
        serving.maxConnectionsPerAddress = 0
        // A test whose thread waits for others must not be cut off.
        serving.requestDeadlineSeconds = 600
        server = try HTTPServer(serving, handler: HeraldService(hub: hub, configuration: configuration))
    }

    private func stop() async {
        server.stop()
        await offPool { [hub] in hub.stop(grace: 0) }
    }

    private static func request(_ method: String, _ path: String, app: String = "default", body: String = "") -> String
    {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(operatorKey)\r\nHerald-App: \(app)\r\n"
            + (body.isEmpty ? "" : "Content-Type: application/json\r\n")
            + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    /// - Returns: the status of the response.
    private func status(of request: String) async throws -> Int? {
        try await RawHTTP.response(to: request, port: server.port)?.status
    }

    @Test("reads of an app that fill its part of the queue do not refuse those of another app")
    func reads() async throws {
        let made = Self.request("POST", "/v1/apps", body: #"{"name": "other"}"#)
        #expect(try await status(of: made) == 201)
        let (begun, gate) = (Flag(), Flag())
        defer { gate.set() }
        let isHeld = hub.read(app: .default) { _ in
            begun.set()
            try? blockUntil("the test has sent its requests") { gate.isSet }
        }
        #expect(isHeld)
        try await eventually("the only reader is busy") { begun.isSet }
        var count = 0
        while hub.read(app: .default, { _ in }) { count += 1 }
        #expect(count >= 400)
        let own = Self.request("GET", "/v1/events")
        #expect(try await status(of: own) == 503)
        let waiting = hub.readsWaiting
        async let other = status(of: Self.request("GET", "/v1/events", app: "other"))
        try await eventually("the read of the other app waits") { [hub] in hub.readsWaiting > waiting }
        gate.set()
        #expect(try await other == 200)
        await stop()
    }

    @Test("an app with all streams that it may have leaves some for another one")
    func streams() async throws {
        let made = Self.request("POST", "/v1/apps", body: #"{"name": "other"}"#)
        #expect(try await status(of: made) == 201)
        try await RawHTTP.onThread { [port = server.port] in
            var clients: [RawHTTPClient] = []
            func isOpened(_ app: String) throws -> Bool {
                let client = try RawHTTPClient(port: port)
                clients.append(client)
                client.send(Self.request("GET", "/v1/events/stream", app: app))
                return try client.read(until: "\r\n\r\n")?.contains(" 200 ") == true
            }
            let own = try (1...Self.maxStreams).map { _ in try isOpened("default") }
            #expect(own == (1...Self.maxStreams).map { $0 <= 6 })
            let isOtherOpened = try isOpened("other")
            #expect(isOtherOpened)
            withExtendedLifetime(clients) {}
        }
        await stop()
    }
}
