import Foundation
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldAPI
@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Metrics", .timeLimit(.minutes(20)))
struct MetricsTests {
    @Test("samples are written with their labels, integers without a decimal point")
    func samples() {
        var page = MetricsPage()
        page.counter(
            "herald_things_total", "Things.", .init(("kind", "a"), ("state", "b"), value: 3),
            .init(("kind", "c"), value: 0))
        page.gauge("herald_age_seconds", "An age.", .init(value: 0.25))
        #expect(
            page.text == """
                # HELP herald_things_total Things.
                # TYPE herald_things_total counter
                herald_things_total{kind="a",state="b"} 3
                herald_things_total{kind="c"} 0
                # HELP herald_age_seconds An age.
                # TYPE herald_age_seconds gauge
                herald_age_seconds 0.25

                """)
    }

    @Test("the buckets of a histogram count all values up to their bound")
    func histogram() throws {
        let (one, other) = (Histogram(bounds: [0.5, 1]), Histogram(bounds: [0.5, 1]))
        for value in [0.1, 0.5, 0.75] { one.count(value) }
        other.count(4)
        var page = MetricsPage()
        page.histogram("herald_work_seconds", "Work.", try #require([one.snapshot, other.snapshot].merged))
        #expect(
            page.text == """
                # HELP herald_work_seconds Work.
                # TYPE herald_work_seconds histogram
                herald_work_seconds_bucket{le="0.5"} 2
                herald_work_seconds_bucket{le="1"} 3
                herald_work_seconds_bucket{le="+Inf"} 4
                herald_work_seconds_sum 5.35
                herald_work_seconds_count 4

                """)
    }

    @Test("lanes are summed by the status of their delegates, and every status is listed")
    func survey() {
        func delegate(_ key: DelegateKey, _ status: WebhookDelegate.Status) -> WebhookDelegate {
            WebhookDelegate(key, status: status)
        }
        func lane(_ cursor: LogPosition?, retrying: Int = 0, isFailing: Bool = false) -> LaneSnapshots.Entry {
            LaneSnapshots.Entry(
                cursor: cursor, inFlight: 1, retrying: retrying, replays: 0,
                flow: FlowStatus(limitedBy: isFailing ? .circuitOpen : nil, circuit: isFailing ? .open : .closed))
        }
        func backlog(_ events: Int64, oldest: Int64? = 90, isEstimate: Bool = false) -> Backlog {
            var backlog = Backlog()
            (backlog.events, backlog.oldest, backlog.isEstimate) = (events, oldest, isEstimate)
            return backlog
        }
        // Only the rate of its receiver is known.
        let limited = LaneSnapshots.Entry(cursor: nil, inFlight: 0, retrying: 0, replays: 0, flow: FlowStatus(rate: 5))
        let survey = LaneMetrics(
            [
                delegate(1, .active), delegate(2, .active), delegate(3, .active), delegate(4, .active),
                delegate(5, .paused), delegate(6, .active),
            ],
            [
                2: lane(90), 3: lane(70, retrying: 2), 4: lane(nil, retrying: 5, isFailing: true), 5: lane(10),
                6: limited,
            ],
            [2: backlog(10), 3: backlog(30, oldest: 70, isEstimate: true), 5: backlog(90, oldest: 10)])
        #expect(survey.activeLanes == 4)
        #expect(survey.inFlight == 4)
        #expect(survey.retrying == 7)
        #expect(survey.limited == [.circuitOpen: 1])
        func values(_ part: (LaneMetrics.Group) -> Int64) -> [String: Int64] {
            Dictionary(
                uniqueKeysWithValues: survey.byStatus { .init(("status", $0), value: part($1)) }.map {
                    ($0.labels[0].value, Int64($0.value))
                })
        }
        let none: Int64 = -1
        #expect(
            values { Int64($0.delegates) } == [
                "active": 4, "paused": 1, "pending_verification": 0, "failing": 1, "disabled": 0, "gone": 0,
            ])
        #expect(values(\.lag).filter { $0.value > 0 } == ["active": 40, "paused": 90])
        #expect(values(\.greatestLag).filter { $0.value > 0 } == ["active": 30, "paused": 90])
        #expect(values(\.estimated).filter { $0.value > 0 } == ["active": 30])
        #expect(values { $0.oldest ?? none }.filter { $0.value != none } == ["active": 70, "paused": 10])
    }

    @Test("without the store, all metrics but the store's are written")
    func withoutStore() throws {
        let hub = try Hub.inMemory()
        let page = try page(of: hub, nil)
        hub.stop(grace: 0)
        #expect(page.contains("\nherald_log_last_sequence 0\n"))
        #expect(!page.contains("herald_database_size_bytes"))
        #expect(!page.contains("herald_leases"))
        #expect(!page.contains("herald_http_"))
    }

    private func page(of hub: Hub, _ reader: (any StoreReader)?) throws -> String {
        let metrics = try Metrics(
            hub: hub, checks: SchemaChecks(hub, WorkPool()), streams: Streams(hub, NumberSeal(hub.secret)),
            wrongKeys: WrongKeys(), version: "1",
            http: { nil })
        return String(decoding: metrics.text(reader), as: UTF8.self)
    }

    @Test("while the log cannot be read, the lag is estimated, not 0")
    func unreadableLog() async throws {
        let store = MemoryStore()
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = 64
        let hub = try Hub.inMemory(store: store, configuration: configuration)
        defer { hub.stop(grace: 0) }
        let settings = WebhookSettings.made("") { $0.kind = .pull }
        await hub.result(of: RegistryWrite.self) {
            RegistryWrite(action: .register(.init(settings: settings, secret: .test)), completion: $0)
        }
        let drafts = (1...200).map { EventDraft(event: Event("a.x", id: "e\($0)", time: 1), mayExist: false) }
        _ = try await hub.publish(drafts)
        let (noLag, noEstimate) = (
            "\nherald_lane_lag_events{status=\"active\"} 0\n",
            "\nherald_lane_lag_estimated_events{status=\"active\"} 0\n"
        )
        try await eventually("the delegate is behind") { try !page(of: hub, store.makeReader()).contains(noLag) }
        #expect(try page(of: hub, store.makeReader()).contains(noEstimate))
        store.pageError.withLock { $0 = .inputOutput(reason: "in a test") }
        let failed = hub.storage.failedReads
        let estimated = try page(of: hub, store.makeReader())
        #expect(!estimated.contains(noLag) && !estimated.contains(noEstimate))
        #expect(hub.storage.failedReads > failed)
    }

    @Test("the process metrics are those of other Prometheus clients")
    func process() async throws {
        let page = try await MetricsFixture.page()
        for name in ["cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes", "open_fds", "max_fds"] {
            let value = try #require(page.firstMatch(of: try Regex("\nprocess_\(name) ([0-9.e+]+)\n")), "\(name)")
            #expect(Double(try #require(value.output[1].substring)) ?? 0 > 0, "\(name)")
        }
    }

    @Test(
        "the Prometheus client for Python reads the page, and every name has its unit",
        .enabled("needs the tools of script/requirements.txt") { getenv("HERALD_VENV") != nil })
    func parser() async throws {
        let script = """
            import sys
            from prometheus_client.parser import text_string_to_metric_families
            for family in text_string_to_metric_families(sys.stdin.read()):
                assert family.documentation.endswith("."), family.name
                assert family.samples, family.name
                # The parser takes `_total` off the names of counters that have it.
                named = {sample.name for sample in family.samples}
                assert (family.type == "counter") == all(name.endswith("_total") for name in named), family.name
                assert family.type in ("counter", "gauge", "histogram"), family.name
            print("read")
            """
        let venv = getenv("HERALD_VENV").map { String(cString: $0) } ?? ""
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-c", script], input: Array(try await MetricsFixture.page().utf8))
        #expect(result.text == "read")
    }
}
