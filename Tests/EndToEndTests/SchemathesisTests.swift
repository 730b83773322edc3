import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Requests that `schemathesis` from PyPI makes of openapi.yaml, right and wrong ones, against the real server.
///
/// Its random numbers begin with a fixed seed, and what it remembers of a run goes with the run's folder. The parameters
/// name things that are there, so that it gets past 404, and wait for a second at most; what would delete them has a run of
/// its own. A stream never ends, so its tests are elsewhere.
@Suite(
    "The description of the API holds", .timeLimit(.minutes(20)), .serialized, .enabled(if: Schemathesis.program != nil)
)
struct SchemathesisTests {
    @Test("responses to all kinds of requests are as described, and none is a server error")
    func everything() async throws {
        let excluded = ["unregisterDelegate", "streamEvents", "streamAttempts"].flatMap {
            ["--exclude-operation-id", $0]
        }
        try await Schemathesis.run(examples: 6, excluded, deletingAll: false)
    }

    @Test("so are responses to deletions")
    func deleting() async throws {
        try await Schemathesis.run(examples: 20, ["--include-method", "DELETE"], deletingAll: true)
    }
}

private enum Schemathesis {
    /// `nil`: there is no Python with it.
    static var program: String? {
        guard let venv = getenv("HERALD_VENV").map({ String(cString: $0) }) else { return nil }
        let path = venv + "/bin/st"
        return access(path, X_OK) == 0 ? path : nil
    }

    private static let checks = [
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    ]

    static func run(examples: Int, _ arguments: [String], deletingAll: Bool) async throws {
        // Without one, the first request that makes a key would end the others.
        let key = "a key for schemathesis".replacing(" ", with: "-")
        let herald = try await HeraldProcess.start(adminKey: key)
        let receiver = try herald.receiver { _ in .status(204) }
        let delegate = try await herald.register(receiver.url(), #""lease_seconds": 3600, "signature": "v1a""#).id
        let event = try await herald.publish("order.paid", #""subject": "order:1001""#)
        #expect(try await herald.send("PUT", "/v1/event-types/order.paid", "{}").status == 201)
        _ = try await herald.deliveries(of: event, "delivered")

        let configuration = herald.folder.path + "/schemathesis.toml"
        // Not QUERY: to a method that Herald does not know 501 is the answer, which the check takes for a defect.
        let text = """
            [phases.coverage]
            unexpected-methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"]
            [[operations]]
            include-path-regex = "^/v1/delegates/"
            parameters = { "path.id" = "\(delegate)" }
            [[operations]]
            include-path-regex = "^/v1/events/"
            parameters = { "path.id" = "\(event)" }
            [[operations]]
            include-operation-id = "getAppState"
            parameters = { "query.wait" = 1 }

            """
        try Files.write(Array(text.utf8), to: configuration)
        guard let program else { return }
        let all = deletingAll ? [] : ["--exclude-operation-id", "unregisterAllDelegates"]
        let url = herald.url
        let result = try await ChildProcess.run(
            "env",
            [
                "--chdir=" + herald.folder.path, "timeout", "--kill-after=5", "\(Int(patience))", program,
                "--config-file",
                configuration, "run", url + "/openapi.json", "--url", url, "--seed", "1", "--max-examples",
                "\(examples)", "--phases", "examples,coverage,fuzzing", "--generation-database", "none",
                "--suppress-health-check", "all", "--continue-on-failure", "--no-color", "--warnings", "off",
                "--checks", checks.joined(separator: ","), "--request-timeout", "15",
                "--header", "Authorization: Bearer \(key)",
            ] + arguments + all,
            within: patience + 60)
        if result.end != .exited(0) { Issue.record("\(result.text)") }
        #expect(herald.process.end == nil)
    }
}
