import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("Control requests to a receiver", .timeLimit(.minutes(20)))
struct ControlTests {
    private struct Pair {
        let receiver: Receiver
        let control: Receiver

        init() throws {
            let replies = try ScriptedReplies()
            let counts = RequestCounts(now: Clock.system.monotonic())
            // A refusal gives the port back for a while.
            let receiver = try Receiver(port: try unusedPort()) { request in
                let reply = replies.reply(to: request)
                counts.add(request, reply)
                return reply
            }
            self.receiver = receiver
            control = try Receiver(
                script: ReceiverControl(receiver, replies, counts, clock: .system).reply)
        }

        func close() {
            control.close()
            receiver.close()
        }

        /// `nil`: the connection was refused or broken.
        func status(_ path: String) async -> Int? { await Self.ask(receiver.port, "POST", path)?.status }

        func order(_ method: String, _ path: String, _ body: String = "") async -> RawHTTPResponse? {
            await Self.ask(control.port, method, path, body)
        }

        private static func ask(
            _ port: UInt16, _ method: String, _ path: String, _ body: String = ""
        ) async -> RawHTTPResponse? {
            let length = "Content-Length: \(body.utf8.count)"
            return try? await RawHTTP.response(
                to: "\(method) \(path) HTTP/1.1\r\nHost: x\r\n\(length)\r\n\r\n\(body)", port: port)
        }
    }

    @Test("an outage starts and ends, with error responses")
    func outage() async throws {
        let pair = try Pair()
        defer { pair.close() }
        #expect(await pair.status("/a") == 200)
        #expect(await pair.order("POST", "/outage")?.status == 204)
        #expect(await pair.status("/a") == 503)
        #expect(await pair.order("POST", "/outage", #"{"status": 500}"#)?.status == 204)
        #expect(await pair.status("/a") == 500)
        #expect(await pair.order("POST", "/recovery")?.status == 204)
        #expect(await pair.status("/a") == 200)
    }

    @Test("an outage refuses connections, breaks open ones, and ends on the same port")
    func refusal() async throws {
        let pair = try Pair()
        defer { pair.close() }
        let rest = try await RawHTTP.onThread { [receiver = pair.receiver] in
            let client = try RawHTTPClient(port: receiver.port, sending: "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.readResponse()?.status == 200)
            receiver.refuseConnections()
            return (try? client.readToEnd()) ?? []
        }
        #expect(rest.isEmpty)
        #expect(await pair.order("POST", "/refusal")?.status == 204)
        #expect(await pair.status("/a") == nil)
        for _ in 0..<2 { #expect(await pair.order("POST", "/recovery")?.status == 204) }
        #expect(await pair.status("/a") == 200)
    }

    @Test("a receiver that refuses connections can be closed")
    func closing() throws {
        let receiver = try Receiver()
        receiver.refuseConnections()
        receiver.close()
        receiver.refuseConnections()
    }

    @Test("a path's script is replaced, and counts are returned and reset")
    func scripts() async throws {
        let pair = try Pair()
        defer { pair.close() }
        #expect(await pair.order("POST", "/script", #"{"/a": {"status": 429}}"#)?.status == 204)
        #expect(await pair.status("/a") == 429)
        #expect(await pair.order("POST", "/script", #"{"/a": null}"#)?.status == 204)
        #expect(await pair.status("/a") == 200)
        func attempts() async throws -> Int64 {
            let counts = try #require(await pair.order("GET", "/counts"))
            let path = try JSONDocument(parsing: counts.body).root["paths"]?["/a"]
            return path?["attempts"]?.elements.reduce(0) { $0 + ($1.integer ?? 0) } ?? 0
        }
        #expect(try await attempts() == 2)
        #expect(await pair.order("DELETE", "/counts")?.status == 204)
        #expect(try await attempts() == 0)
    }

    @Test("an invalid control request gets a description of the error")
    func mistakes() async throws {
        let pair = try Pair()
        defer { pair.close() }
        #expect(await pair.order("GET", "/outage")?.status == 404)
        let refused = await pair.order("POST", "/script", #"{"/a": {"stauts": 1}}"#)
        #expect(refused?.status == 400)
        #expect(refused?.text.contains("stauts") == true)
    }
}
