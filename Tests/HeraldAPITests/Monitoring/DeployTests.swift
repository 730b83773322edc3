import HeraldJSON
import Testing

@testable import HeraldCLI

@Suite("The files in deploy/")
struct DeployTests {
    @Test("the Grafana dashboard is JSON, and its queries use existing metrics")
    func dashboard() async throws {
        let dashboard = try JSONDocument(
            parsing: try Repository.text("deploy/grafana/herald.json"), limits: JSONLimits(values: 100_000))
        let panels = Array(try #require(dashboard["panels"]).elements).filter { $0["type"]?.string != "row" }
        #expect(panels.count > 12)
        let series = try await MetricsFixture.series()
        var asked: Set<String> = []
        for panel in panels {
            let title = try #require(panel["title"]?.string)
            #expect(panel["description"]?.string?.isEmpty == false, "\(title)")
            for target in try #require(panel["targets"]).elements {
                let query = try #require(target["expr"]?.string)
                let names = MetricsFixture.names(in: query)
                #expect(!names.isEmpty && names.isSubset(of: series), "\(title): \(names.subtracting(series))")
                asked.formUnion(names)
            }
        }
        // What is worth a metric is worth a look, in one of its series.
        let shown = Set(try await MetricsFixture.metrics().filter { name in asked.contains { $0.hasPrefix(name) } })
        #expect(
            try await MetricsFixture.metrics().subtracting(shown) == [
                "herald_build_info", "process_start_time_seconds", "process_virtual_memory_bytes", "process_threads",
            ])
    }

    @Test("compose.yaml sets only existing settings, and those that sharing a database needs")
    func compose() throws {
        let text = try Repository.text("deploy/compose.yaml")
        let names = Set(text.matches(of: #/\bHERALD_[A-Z_]+/#).map { String($0.0) })
        #expect(names.isSubset(of: Option.all.map(\.variable)))
        #expect(names.isSuperset(of: ["HERALD_STORE", "HERALD_ADMIN_KEY", "HERALD_MASTER_KEY"]))
    }

    @Test("every alert rule uses existing metrics, and says what is wrong and what to do")
    func alerts() async throws {
        let text = try Repository.text("deploy/prometheus/alerts.yaml")
        let rules = text.split(separator: "      - alert: ").dropFirst()
        #expect(rules.count > 8)
        // What is said of a histogram names it as a whole.
        let known = try await MetricsFixture.series().union(try await MetricsFixture.metrics())
        for rule in rules {
            let name = rule.prefix { $0 != "\n" }
            let names = MetricsFixture.names(in: rule)
            #expect(names.isSubset(of: known), "\(name): \(names.subtracting(known))")
            for part in ["expr: ", "severity: ", "summary: ", "description: >-"] {
                #expect(rule.contains(part), "\(name) has no \(part)")
            }
        }
    }
}
