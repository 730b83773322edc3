import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("What the service says of itself", .timeLimit(.minutes(20)), .serialized)
struct DescriptionTests {
    @Test("the OpenAPI document contains every operation, and no others on its paths")
    func operations() async throws {
        let herald = try await HeraldProcess.start()
        let document = try await herald.get("/openapi.json")
        let paths = try #require(document["paths"])
        #expect(paths.count > 10)
        for (template, item) in paths.members {
            let path = template.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("{") ? "x" : String($0) }.joined(separator: "/")
            let answer = try await herald.send("OPTIONS", path)
            #expect(answer.status == 204, "\(template)")
            let allowed = Set((answer.header("allow") ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
            let described = item.members.map { $0.key.uppercased() }.filter {
                ["GET", "PUT", "POST", "PATCH", "DELETE"].contains($0)
            }
            #expect(allowed.subtracting(["HEAD", "OPTIONS"]) == Set(described), "\(template)")
        }
    }

    @Test("the metrics are well-formed and correct")
    func metrics() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver { $0.path == "/bad" ? .status(500) : .status(200) }
        _ = try await herald.register(receiver.url("/good"))
        _ = try await herald.register(receiver.url("/bad"), #""retry_schedule": []"#)
        try await herald.publish("auth.logged_in", #""data": {"user": {"id": 1}}"#)
        let last = try await herald.publish()
        _ = try await herald.deliveries(of: last, "delivered", "exhausted")
        let lines = [
            "herald_events_published_total{family=\"auth\"} 2", "herald_events_published_total{family=\"other\"} 1",
            "herald_events_published_total{family=\"herald\"} 3",
            "herald_attempts_total{outcome=\"succeeded\"} 3", "herald_attempts_total{outcome=\"failed\"} 3",
            "herald_deliveries_total{outcome=\"delivered\"} 3", "herald_deliveries_total{outcome=\"exhausted\"} 3",
            "herald_delegates{kind=\"webhook\",status=\"active\"} 2",
            "herald_attempt_duration_seconds_bucket{le=\"+Inf\"} 6",
            "herald_attempt_duration_seconds_count 6", "herald_log_last_sequence 6", "herald_log_first_sequence 1",
            "herald_commit_batch_events_sum 6", "herald_intake_events 0", "herald_intake_refused_total 0",
            "herald_deliveries_missed_total 0", "herald_deliveries_retrying 0", "herald_deliveries_in_flight 0",
            "herald_attempt_failures_total{kind=\"failure\"} 3", "herald_attempt_failures_total{kind=\"hang\"} 0",
            "herald_intake_bytes 0",
        ]
        // The events about the exhausted deliveries are published after these have ended.
        _ = try? await herald.get("/metrics") { page in lines.allSatisfy { page.text.contains("\n\($0)\n") } }
        let page = try await herald.get("/metrics").text
        for line in lines { #expect(page.contains("\n\(line)\n"), "\(line)") }
        #expect(page.contains(#/\nherald_log_largest_app_bytes{app="default"} [1-9]/#))
        var named: Set<String> = []
        var samples: Set<String> = []
        for line in page.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE ") {
                #expect(named.insert(String(words[2])).inserted, "\(line)")
            } else if !line.hasPrefix("#") {
                let sample = line[..<(line.lastIndex(of: " ") ?? line.endIndex)]
                #expect(samples.insert(String(sample)).inserted, "\(line)")
                #expect(words.last.flatMap { Double($0) } != nil, "\(line)")
                let name = sample.prefix { $0 != "{" }
                #expect(
                    named.contains(String(name))
                        || ["_bucket", "_sum", "_count"].contains {
                            name.hasSuffix($0) && named.contains(String(name.dropLast($0.count)))
                        }, "\(line)")
            }
        }
        #expect(!page.contains("127.0.0.1"))
    }
}
