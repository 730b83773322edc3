import HeraldCore
import HeraldTestSupport

@testable import HeraldAPI
@testable import HeraldHTTP

enum MetricsFixture {
    /// The page of a new hub: every metric exists from the start.
    static func page() async throws -> String {
        let hub = try Hub.inMemory()
        let metrics = try Metrics(
            hub: hub, checks: SchemaChecks(hub, WorkPool()), streams: Streams(hub, NumberSeal(hub.secret)),
            wrongKeys: WrongKeys(),
            version: "1.2.3",
            http: { HTTPServerStatistics() })
        let text = await withCheckedContinuation { continuation in
            let isTaken = hub.read(app: nil) { continuation.resume(returning: metrics.text(try? $0.get())) }
            if !isTaken { continuation.resume(returning: []) }
        }
        hub.stop(grace: 0)
        return String(decoding: text, as: UTF8.self)
    }

    /// The names of all metrics.
    static func metrics() async throws -> Set<String> {
        Set(
            try await page().split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { line in
                String(line.split(separator: " ")[2])
            })
    }

    /// The names under which queries find them: a histogram has three.
    static func series() async throws -> Set<String> {
        Set(
            try await page().split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
                String(line.prefix { $0 != "{" && $0 != " " })
            })
    }

    /// The names of ours in a text, such as a query.
    static func names(in text: some StringProtocol) -> Set<String> {
        Set(String(text).matches(of: #/\b(?:herald|process)_[a-z_]+/#).map { String($0.0) })
    }
}
