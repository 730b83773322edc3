import Foundation
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

    @Test(
        "the balancer of compose.yaml is the trusted proxy, and names the clients",
        .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
    func balancer() async throws {
        let file = try await Repository.yaml("deploy/compose.yaml")
        let services = try #require(file["services"])
        let address = services["balancer"]?["networks"]?["herald"]?["ipv4_address"]?.string
        for name in ["herald-1", "herald-2"] {
            let environment = services[name]?["environment"]
            #expect(environment?["HERALD_TRUSTED_PROXIES"]?.string == address && address != nil, "\(name)")
            #expect(environment?["HERALD_CONNECTIONS_PER_ADDRESS"] == nil, "\(name)")
        }
        let pool = file["networks"]?["herald"]?["ipam"]?["config"]?.elements.first { _ in true }
        #expect(pool?["ip_range"]?.string == "172.30.84.128/25")
        // An address that a container may get by itself can be taken when the one that needs it starts.
        let fixed = services.members.compactMap { $0.value["networks"]?["herald"]?["ipv4_address"]?.string }
        #expect(fixed.count == 3 && Set(fixed).count == 3, "\(fixed)")
        for address in fixed {
            let last = try #require(address.split(separator: ".").last.flatMap { Int($0) })
            #expect(address.hasPrefix("172.30.84.") && (2..<128).contains(last), "\(address)")
        }
        let settings = try #require(file["configs"]?["balancer"]?["content"]?.string)
        let nginx = try Repository.text("deploy/proxies/nginx.conf")
        // In a file of Compose, a dollar is written twice.
        for name in ["Connection", "Host", "X-Forwarded-For", "Forwarded"] {
            let line = try #require(nginx.split(separator: "\n").first { $0.contains("proxy_set_header \(name) ") })
            let wanted = line.trimmingPrefix { $0 == " " }.replacing("$", with: "$$")
            #expect(settings.contains(wanted), "\(wanted)")
        }
    }

    @Test(
        "Prometheus of compose.yaml reads each server with the key, and Grafana has its data and the dashboard",
        .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
    func monitoring() async throws {
        let file = try await Repository.yaml("deploy/compose.yaml")
        let (services, configs) = (try #require(file["services"]), try #require(file["configs"]))
        func first(_ list: JSONValue?) -> JSONValue? { list?.elements.first { _ in true } }
        func content(_ name: String) async throws -> JSONDocument {
            try await Repository.json(ofYAML: try #require(configs[name]?["content"]?.string))
        }
        let scraping = try await content("prometheus")
        let job = try #require(first(scraping["scrape_configs"]))
        #expect(job["job_name"]?.string == "herald", "the alert rules expect it")
        let targets = try #require(first(job["static_configs"])?["targets"]).elements.compactMap(\.string)
        let servers = services.members.filter { $0.value["image"]?.string == "herald" }.map { "\($0.key):8080" }
        #expect(targets.sorted() == servers.sorted() && !servers.isEmpty)
        let key = try #require(job["authorization"]?["credentials_file"]?.string)
        let secret = file["secrets"]?[String(key.trimmingPrefix("/run/secrets/"))]
        #expect(secret?["environment"]?.string == "HERALD_ADMIN_KEY")
        let source = try #require(first(try await content("grafana-source")["datasources"]))
        #expect(source["url"]?.string == "http://prometheus:9090" && source["type"]?.string == "prometheus")
        let provider = try #require(first(try await content("grafana-dashboards")["providers"]))
        let mounts = ["prometheus", "grafana"].flatMap { services[$0]?["volumes"]?.elements.compactMap(\.string) ?? [] }
        let rules = first(scraping["rule_files"])?.string ?? ""
        #expect(mounts.contains("./prometheus/alerts.yaml:\(rules):ro"))
        #expect(mounts.contains("./grafana:\(provider["options"]?["path"]?.string ?? ""):ro"))
    }

    /// Metrics that count or show a failure of the server, and not of a client or a receiver.
    private static let failureMetrics: Set<String> = [
        "herald_storage_works", "herald_database_checkpoints_failed_total", "herald_events_damaged_total",
        "herald_damaged_rows", "herald_reads_failed_total", "herald_backups_failed_total",
        "herald_partition_drops_failed_total",
        "herald_intake_refused_total",
        "herald_deliveries_missed_total", "herald_pending_late_seconds", "herald_pending_refused_total",
        "herald_delivery_permitted", "herald_spans_total", "herald_socket_watch_failures_total",
        "herald_certificate_expiry_timestamp_seconds",
    ]

    @Test("each failure that has a metric has an alert, and so has a server without a target")
    func failures() async throws {
        let text = try Repository.text("deploy/prometheus/alerts.yaml")
        let rules = text.split(separator: "        expr: ").dropFirst().map { rule in
            String(rule.prefix(upTo: rule.firstRange(of: "labels: ")?.lowerBound ?? rule.endIndex))
        }
        let asked = rules.reduce(into: Set<String>()) { $0.formUnion(MetricsFixture.names(in: $1)) }
        #expect(asked.isSuperset(of: Self.failureMetrics), "\(Self.failureMetrics.subtracting(asked))")
        #expect(try await MetricsFixture.metrics().isSuperset(of: Self.failureMetrics))
        #expect(rules.contains { $0.contains("absent(up") })
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
