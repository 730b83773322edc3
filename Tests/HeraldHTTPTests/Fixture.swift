import HeraldRuntime
import HeraldTestSupport
import Synchronization

@testable import HeraldHTTP

/// A small application: what it does depends on the path.
final class TestApplication: RequestHandler, AdmittedRequest {
    struct Seen: Sendable {
        let method: RequestMethod
        let path: String
        let query: String?
        let body: [UInt8]
    }

    let streams = StreamRecorder()
    private let held = Mutex<[Responder]>([])
    private let ofRound = Mutex<[Responder]>([])
    private let requests = Mutex<[Seen]>([])

    var seen: [Seen] { requests.withLock { $0 } }
    var heldCount: Int { held.withLock { $0.count } }
    func takeHeld() -> [Responder] {
        held.withLock { held in
            defer { held = [] }
            return held
        }
    }

    func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision {
        switch head.path {
        case "/refused": .refused(.text(405, "no"))
        case "/late": .refused(Self.late)
        case "/busy": .refused(.text(429, "later"))
        default: .admitted(self)
        }
    }

    static let late: Response = {
        var response = Response.text(401, "late")
        response.holdMilliseconds = 5_000
        return response
    }()

    func handle(_ request: Request, _ responder: Responder) {
        let head = request.head
        requests.withLock {
            $0.append(Seen(method: head.method, path: head.path, query: head.query, body: request.body))
        }
        switch head.path {
        case "/echo": responder.send(Response(status: 200, body: request.body))
        case "/header": responder.send(.text(200, head.value(of: "X-Test") ?? "none"))
        case "/peer": responder.send(.text(200, request.peer.description))
        case "/large": responder.send(Response(status: 200, body: [UInt8](repeating: 120, count: 32_000_000)))
        case "/hold": held.withLock { $0.append(responder) }
        case "/round": ofRound.withLock { $0.append(responder) }
        case "/stream":
            var rules = StreamRules()
            rules.heartbeat = Array("beat\n".utf8)
            // The query is the group.
            let group = head.query.flatMap { Int64($0) }
            if !responder.stream([.init("Content-Type", "text/plain")], rules, group: group, to: streams) {
                responder.send(.text(503, "too many"))
            }
        case "/late-answer": responder.send(Self.late)
        case "/drop": break
        case "/twice":
            responder.send(.text(200, "first"))
            responder.send(.text(200, "second"))
        case "/thread":
            RawHTTP.start { responder.send(.text(200, "from elsewhere")) }
        case "/loop":
            RawHTTP.start { responder.loop.post { responder.send(.text(200, "from elsewhere")) } }
        case "/injection":
            responder.send(
                Response(
                    status: 200,
                    headers: [
                        .init("X-Bad", "a\r\nX-Evil: 1"), .init("X-Good", "b"), .init("X-NUL", "a\0b"),
                        .init("Content-Length", "1"), .init("connection", "upgrade"),
                    ], body: [120, 121]))
        default: responder.send(.text(200, head.path))
        }
    }

    func failure(_ failure: RequestFailure, for origin: String?) -> Response {
        .text(failure.status, "failure: \(failure.reason)")
    }

    func mayWait(_ head: RequestHead) -> Bool { head.path != "/health" }

    func mayUseReserve(_ head: RequestHead) -> Bool { head.path == "/health" }

    func roundEnded() {
        let responders = ofRound.withLock { responders in
            defer { responders = [] }
            return responders
        }
        for responder in responders { responder.send(.text(202, "with the round")) }
    }
}

extension Response {
    static func text(_ status: Int, _ text: String) -> Response {
        Response(status: status, headers: [.init("Content-Type", "text/plain")], body: Array(text.utf8))
    }
}

/// A running server with its application and its time, on a port of its own.
final class Fixture: Sendable {
    let application = TestApplication()
    private let clock = ManualClock()
    let server: HTTPServer

    init(_ change: (inout HTTPServerConfiguration) -> Void = { _ in }) throws {
        var configuration = HTTPServerConfiguration(maxBodyBytes: 262_144)
        change(&configuration)
        server = try HTTPServer(configuration, handler: application, clock: clock.clock)
    }

    deinit { server.stop() }

    func client() throws -> RawHTTPClient { try RawHTTPClient(port: server.port) }

    func client(sending text: String) throws -> RawHTTPClient {
        try RawHTTPClient(port: server.port, sending: text)
    }

    /// Runs blocking work on a thread of its own.
    static func run(
        _ change: @escaping @Sendable (inout HTTPServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (Fixture) throws -> Void
    ) async throws {
        try await RawHTTP.onThread {
            let fixture = try Fixture(change)
            defer { fixture.server.stop() }
            try body(fixture)
        }
    }

    /// Runs blocking work with one client.
    static func converse(
        _ change: @escaping @Sendable (inout HTTPServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (Fixture, RawHTTPClient) throws -> Void
    ) async throws {
        try await run(change) { fixture in try body(fixture, try fixture.client()) }
    }

    func advance(seconds: Int64) {
        clock.advance(seconds: Double(seconds))
        server.wake()
    }

    /// Returns once the loop has handled all that was sent to it before. The first response may come in the middle of a round
    /// of the loop, which handles new connections in any order; the second one comes in a later round.
    func settle(_ client: RawHTTPClient) throws {
        for _ in 1...2 {
            client.send("GET /settled HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try client.readResponse()
        }
    }

    /// Asks the loop again and again, for a minute at most.
    func wait(for condition: () -> Bool) throws -> Bool {
        let client = try client()
        let deadline = monotonicSeconds() + 60
        while !condition() {
            if monotonicSeconds() > deadline { return false }
            try settle(client)
        }
        return true
    }
}

/// An authority of its own, and servers with certificates of it.
struct TLSFixtures {
    let authority: CertificateAuthority
    let folder = TemporaryFolder()
    let authorityFile: String

    init() throws {
        authority = try CertificateAuthority()
        authorityFile = try folder.write(authority.pem, to: "ca.pem")
    }

    /// - Parameter authority: another one.
    func certificate(_ authority: CertificateAuthority? = nil) throws -> ServerCertificate {
        let identity = try (authority ?? self.authority).makeIdentity()
        return try ServerCertificate(chain: Array(identity.certificate.utf8), key: Array(identity.key.utf8))
    }

    func fixture(_ change: (inout HTTPServerConfiguration) -> Void = { _ in }) throws -> Fixture {
        let certificate = try certificate()
        return try Fixture {
            $0.certificate = certificate
            change(&$0)
        }
    }
}

/// A change of one setting.
func with<Value: Sendable>(
    _ setting: any WritableKeyPath<HTTPServerConfiguration, Value> & Sendable, _ value: Value
) -> @Sendable (inout HTTPServerConfiguration) -> Void {
    { $0[keyPath: setting] = value }
}

func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
}

func post(_ path: String, _ body: String, _ fields: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}
