import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("Requests that are refused", .timeLimit(.minutes(20)))
struct StrictnessTests {
    private static func allow(_ configuration: inout HTTPServerConfiguration) {
        configuration.allowedHosts = ["Localhost", "::1"]
    }

    @Test("each request gets its status, and nothing is parsed as a second one", arguments: StrictnessCase.all)
    func verdict(of request: StrictnessCase) async throws {
        try await Fixture.run(Self.allow) { fixture in
            let wanted = request.wanted + (request.staysOpen ? [200] : [])
            let got = try Self.statuses(of: request, cutAt: nil, fixture)
            #expect(got == wanted, "\(request.name)")
            #expect(!fixture.application.seen.contains { $0.path == "/smuggled" })
        }
    }

    @Test("a request split in two at any byte gets the same status", arguments: StrictnessCase.all)
    func cut(_ request: StrictnessCase) async throws {
        try await Fixture.run(Self.allow) { fixture in
            let wanted = request.wanted + (request.staysOpen ? [200] : [])
            for position in 1..<request.raw.utf8.count {
                let got = try Self.statuses(of: request, cutAt: position, fixture)
                #expect(got == wanted, "\(request.name) at \(position)")
            }
            #expect(!fixture.application.seen.contains { $0.path == "/smuggled" })
        }
    }

    /// Sends the request and one more that asks to close, and collects the status of every answer.
    private static func statuses(of request: StrictnessCase, cutAt position: Int?, _ fixture: Fixture) throws -> [Int] {
        let client = try fixture.client()
        let bytes = Array(request.raw.utf8)
        if let position {
            client.send(bytes[..<position])
            // The loop has read the first part once it answers a request that came after it.
            let other = try fixture.client()
            other.send("GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(try other.readResponse()?.status == 200)
            client.send(bytes[position...])
        } else {
            client.send(bytes)
        }
        client.send("GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return statuses(in: try client.readToEnd())
    }

    private static func statuses(in bytes: [UInt8]) -> [Int] {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "HTTP/1.1 ", omittingEmptySubsequences: true)
        return parts.compactMap { Int($0.prefix(3)) }
    }
}
