import Glibc
import HTTPServer
import Herald
import Synchronization

/// `/metrics` in the text format of Prometheus, 0.0.4. All counters start at 0 with the process.
struct Metrics: Sendable {
    let events = EventMetrics()
    let hub: Hub
    let checks: SchemaChecks
    let version: String
    let http: @Sendable () -> HTTPServerStatistics?

    func text() -> [UInt8] {
        var page = MetricsPage()
        page.gauge("herald_build_info", "The version of this Herald.", [("{version=\"\(version)\"}", 1)])
        page.counter(
            "herald_events_published_total", "Events that became durable, by family.",
            events.counts.map { ("{family=\"\($0.family)\"}", Double($0.count)) })
        page.counter(
            "herald_event_check_failures_total", "Events that did not fit the schema of their type, by what was done.",
            checks.counts.map { ("{check=\"\($0.check.rawValue)\"}", Double($0.count)) })
        writeLog(&page)
        writeDeliveries(&page)
        writeHTTP(&page)
        page.gauge("process_resident_memory_bytes", "Resident memory.", [("", Double(Self.residentBytes()))])
        return Array(page.text.utf8)
    }

    private func writeLog(_ page: inout MetricsPage) {
        let writer = hub.writerCounters
        page.counter(
            "herald_commits_total", "Transactions, by outcome.",
            [
                ("{outcome=\"committed\"}", Double(writer.commits.load(ordering: .relaxed))),
                ("{outcome=\"failed\"}", Double(writer.failures.load(ordering: .relaxed))),
            ])
        page.counter(
            "herald_commit_seconds_total", "Time spent in transactions.",
            [("", Double(writer.nanoseconds.load(ordering: .relaxed)) / 1e9)])
        page.gauge("herald_log_head", "The sequence number of the last event.", [("", Double(hub.head))])
    }

    private func writeDeliveries(_ page: inout MetricsPage) {
        let counters = hub.deliveryCounters
        func sum(_ part: (DeliveryCounters) -> Int) -> Double { Double(counters.reduce(0) { $0 + part($1) }) }
        page.counter(
            "herald_attempts_total", "Attempts to deliver, by outcome.",
            [
                ("{outcome=\"succeeded\"}", sum { $0.succeeded.load(ordering: .relaxed) }),
                ("{outcome=\"failed\"}", sum { $0.failed.load(ordering: .relaxed) }),
            ])
        page.counter(
            "herald_deliveries_exhausted_total", "Deliveries given up after their last attempt.",
            [("", sum { $0.gaveUp.load(ordering: .relaxed) })])
        page.histogram(
            "herald_attempt_duration_seconds", "Attempts by duration.", DeliveryCounters.bounds,
            counters.map(\.histogram))
        let lanes = hub.laneBoards.map(\.summary)
        page.gauge(
            "herald_delegates", "Delegates, by kind.",
            [
                ("{kind=\"webhook\"}", Double(hub.registry.count)),
                ("{kind=\"in_memory\"}", Double(hub.inMemoryDelegates.count)),
            ])
        page.gauge(
            "herald_lanes_active", "Lanes with something in flight, behind, or waiting.",
            [("", Double(lanes.reduce(0) { $0 + $1.active }))])
        page.gauge(
            "herald_lanes_failing", "Lanes that are stopped because their delegate fails.",
            [("", Double(lanes.reduce(0) { $0 + $1.failing }))])
        page.gauge(
            "herald_deliveries_retrying", "Deliveries that wait for their next attempt.",
            [("", Double(lanes.reduce(0) { $0 + $1.retrying }))])
    }

    private func writeHTTP(_ page: inout MetricsPage) {
        guard let http = http() else { return }
        page.gauge("herald_http_connections", "Open connections.", [("", Double(http.openConnections))])
        page.gauge(
            "herald_http_requests_waiting", "Requests that wait for their answer.", [("", Double(http.waitingRequests))]
        )
        page.counter(
            "herald_http_responses_total", "Answers, by class of their status.",
            [
                ("{class=\"2xx\"}", Double(http.answers2xx)), ("{class=\"3xx\"}", Double(http.answers3xx)),
                ("{class=\"4xx\"}", Double(http.answers4xx)), ("{class=\"5xx\"}", Double(http.answers5xx)),
            ])
    }

    /// From `/proc/self/statm`; 0 where there is none.
    private static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line: [CChar] = Array(repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
    }
}
