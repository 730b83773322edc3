import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Documents that are dear to compute", .timeLimit(.minutes(20)), .serialized)
struct BudgetTests {
    private static func list(_ count: Int, _ element: (Int) -> String) -> String {
        (0..<count).map(element).joined(separator: ",")
    }

    /// Takes some thousand steps for each value in an array.
    private static let dear =
        "{\"items\": {\"allOf\": [" + list(3_000) { _ in #"{"type": "integer"}"# } + "]}}"
    /// Within the budget of one event, far beyond it together.
    private static let batch =
        "[" + list(1_000) { _ in "{\"type\": \"attack.dear\", \"data\": [1,2,3,4,5,6,7,8,9]}" } + "]"

    private static func describe(_ herald: HeraldProcess, check: String = "enforce") async throws {
        let answer = try await herald.send(
            "PUT", "/v1/event-types/attack.dear", #"{"schema": \#(dear), "check": "\#(check)"}"#)
        #expect([200, 201].contains(answer.status), "\(answer.text)")
    }

    @Test(
        "a batch that exceeds the budget is refused as a whole, and the response names the budget",
        arguments: ["enforce", "report"])
    func refused(check: String) async throws {
        let herald = try await HeraldProcess.start()
        try await Self.describe(herald, check: check)
        let one = #"{"type": "attack.dear", "data": [1,2,3]}"#
        #expect(try await herald.post("/v1/events", one).status == 202)
        let refused = try await herald.post("/v1/events", Self.batch)
        #expect(refused.status == 422)
        #expect(refused.string("type") == "/problems/budget-exceeded")
        #expect(refused.string("detail")?.contains("50 ms") == true)
        #expect(try await herald.get("/v1/events").data.count == 1)
    }

    @Test("definitions that double 25 times are validated like any other: a hundred events are accepted")
    func doubling() async throws {
        let herald = try await HeraldProcess.start()
        let definitions = Self.list(25) {
            let next = ##"{"$ref": "#/$defs/d\##($0 + 1)"}"##
            return "\"d\($0)\": {\"allOf\": [\(next), \(next)]}"
        }
        let schema = ##"{"$defs": {\##(definitions), "d25": {"type": "object"}}, "$ref": "#/$defs/d0"}"##
        let described = try await herald.send(
            "PUT", "/v1/event-types/attack.doubling", #"{"schema": \#(schema), "check": "enforce"}"#)
        #expect(described.status == 201)
        func batch(_ data: String) -> String {
            "[" + Self.list(100) { _ in #"{"type": "attack.doubling", "data": \#(data)}"# } + "]"
        }
        #expect(try await herald.post("/v1/events", batch("{}")).status == 202)
        #expect(try await herald.post("/v1/events", batch("1")).string("type") == "/problems/validation")
    }

    @Test("schemas, examples and dry runs have the same budget")
    func others() async throws {
        let herald = try await HeraldProcess.start()
        let path = "/v1/event-types/attack.dear"
        let values = Self.list(5_000) { "\($0)" }
        let example = try await herald.send("PUT", path, #"{"schema": \#(Self.dear), "example": [\#(values)]}"#)
        #expect(example.string("type") == "/problems/budget-exceeded")
        // Deep down, where every pointer is long, thousands of subschemas.
        let key = String(repeating: "~", count: 1_000)
        let deep =
            String(repeating: "{\"properties\": {\"\(key)\": ", count: 25)
            + "{\"allOf\": [" + Self.list(3_000) { _ in "{}" } + "]}" + String(repeating: "}}", count: 25)
        let schema = try await herald.send("PUT", path, #"{"schema": \#(deep)}"#)
        #expect(schema.string("type") == "/problems/budget-exceeded", "\(schema.text.prefix(500))")
        #expect(try await herald.get(path).status == 404)
        let texts = Self.list(250) { "{\"suffix\": \"\($0)x\"}" }
        for number in 0..<10 {
            _ = try await herald.register(
                "http://127.0.0.1:9/\(number)", #""filter": {"data": {"list": [\#(texts)]}}"#)
        }
        let dryRun = try await herald.post(
            "/v1/events?dry_run=true", #"{"type": "a.b", "data": {"list": [\#(values)]}}"#)
        #expect(dryRun.string("type") == "/problems/budget-exceeded")
        let usual = try await herald.post("/v1/events?dry_run=true", #"{"type": "a.b", "data": {"list": ["x"]}}"#)
        #expect(usual.status == 200)
        #expect(usual["not_matching"]?.integer == 10)
    }

    @Test("while clients send such documents continuously, other requests are served, and TERM ends the process")
    func underAttack() async throws {
        let herald = try await HeraldProcess.start(["--grace", "1"])
        try await Self.describe(herald)
        let usual = #"{"schema": {"required": ["id"]}, "check": "enforce"}"#
        #expect(try await herald.send("PUT", "/v1/event-types/usual.event", usual).status == 201)
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while !isOver.isSet {
                        let answer = try? await herald.post("/v1/events", Self.batch)
                        // Under way when the process ends, it may not get an answer at all.
                        if let answer { #expect([422, 503].contains(answer.status)) }
                    }
                }
            }
            defer { isOver.set() }
            for number in 0..<50 {
                #expect(try await herald.get("/healthz").status == 200)
                #expect(try await herald.post("/v1/events", #"{"type": "free.\#(number)"}"#).status == 202)
                let checked = try await herald.post("/v1/events", #"{"type": "usual.event", "data": {"id": 1}}"#)
                #expect(checked.status == 202)
            }
            #expect(try await herald.stop() == .exited(0))
        }
    }

    @Test("thousands of errors are neither all listed nor compared with each other")
    func mistakes() async throws {
        let herald = try await HeraldProcess.start()
        let members = Self.list(9_000) { "\"k\($0)\": 1" }
        for (path, body) in [
            ("/v1/events", #"{"type": "a.b", \#(members)}"#),
            ("/v1/events", "[" + Self.list(1_000) { _ in #"{"typ": 1}"# } + "]"), ("/v1/delegates", "{\(members)}"),
        ] {
            let answer = try await herald.post(path, body)
            #expect(answer.status == 422)
            #expect(answer.errors.count == 100)
        }
        let pairs = Self.list(4_000) { "\"k\($0)\": \"v\"" }
        let delegate = #"{"url": "http://127.0.0.1:9/", "headers": {\#(pairs)}, "metadata": {\#(pairs)}}"#
        #expect(Set(try await herald.post("/v1/delegates", delegate).errors) == ["/headers", "/metadata"])
    }
}
