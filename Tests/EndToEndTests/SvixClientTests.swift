import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// What programs with an SDK of Svix depend on.
@Suite("Svix's API, as its SDKs use it", .timeLimit(.minutes(20)))
struct SvixClientTests {
    private static let endpoints = SvixTests.root + "/app/acme/endpoint"

    private static func start() async throws -> HeraldProcess {
        let herald = try await SvixTests.start()
        let made = try await herald.post(SvixTests.root + "/app", #"{"name": "Acme", "uid": "acme"}"#)
        try #require(made.status == 201, "\(made.text)")
        return herald
    }

    @Test("an endpoint has its event types by both names")
    func eventTypes() async throws {
        let herald = try await Self.start()
        let made = try await herald.post(
            Self.endpoints, #"{"url": "https://one.example/", "uid": "one", "eventTypes": ["order.paid"]}"#)
        #expect(made.status == 201, "\(made.text)")
        for name in ["eventTypes", "filterTypes"] {
            #expect(made[name]?.elements.compactMap(\.string) == ["order.paid"], "\(name): \(made.text)")
        }
        let all = try await herald.send("PUT", Self.endpoints + "/one", #"{"url": "https://one.example/"}"#)
        #expect(all["eventTypes"]?.isNull == true && all["filterTypes"]?.isNull == true, "\(all.text)")
    }
}
