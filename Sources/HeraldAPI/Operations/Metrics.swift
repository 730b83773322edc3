import HeraldCore
import HeraldHTTP
import HeraldModel
import HeraldRuntime
import Synchronization

/// `/metrics`, for Prometheus. All counters start at 0 with the process. No set of labels grows with posts or
/// registrations.
struct Metrics: Sendable {
    let events = EventMetrics()
    let hub: Hub
    let checks: SchemaChecks
    let streams: Streams
    let wrongKeys: WrongKeys
    let version: String
    let http: @Sendable () -> HTTPServerStatistics?
    private let process: ProcessMetrics

    init(
        hub: Hub, checks: SchemaChecks, streams: Streams, wrongKeys: WrongKeys, version: String,
        http: @escaping @Sendable () -> HTTPServerStatistics?
    ) {
        self.hub = hub
        self.checks = checks
        self.streams = streams
        self.wrongKeys = wrongKeys
        self.version = version
        self.http = http
        process = ProcessMetrics(startedAt: hub.clock.wall())
    }

    /// Examines every delegate, so it must run on a reader's thread if one is available.
    /// - Parameter reader: `nil` if the store can't be read; its metrics are omitted then.
    func text(_ reader: (any StoreReader)?, _ format: MetricsPage.Format = .prometheus) -> [UInt8] {
        var page = MetricsPage(format)
        page.gauge(
            "herald_build_info", "The version of this Herald, and the node, by its id in GET /v1/nodes.",
            .init(("version", version), ("node", hub.nodeMonitor.node.id), value: 1))
        writeEvents(&page)
        page.counter(
            "herald_events_damaged_total", "Events whose bytes in the database are not those that were stored.",
            hub.damagedEvents.count)
        page.gauge(
            "herald_damaged_rows", "Rows of the database that cannot be read, and were left out or replaced.",
            hub.damagedRows.count)
        writeCommits(&page)
        writeStorage(&page)
        writeQueues(&page)
        writeDeliveries(&page)
        writeLanes(&page, reader)
        writePulls(&page, reader)
        writeNodes(&page)
        if let reader { writeStore(&page, reader) }
        page.counter("herald_wrong_keys_total", "Access keys and links that were not valid.", wrongKeys.count)
        if let http = http() { write(http, &page) }
        page.counter(
            "herald_socket_watch_failures_total",
            "Sockets that epoll refused to watch. They are served when a timer expires.",
            EpollFailures.count)
        writeTraces(&page)
        process.write(&page)
        return page.bytes
    }

    private func writeEvents(_ page: inout MetricsPage) {
        page.counter(
            "herald_events_published_total", "Events that became durable, by family.",
            events.counts.map { .init(("family", $0.family), value: $0.count) })
        page.counter(
            "herald_event_check_failures_total", "Events that did not match the schema of their type, by action.",
            checks.counts.map { .init(("check", $0.check.rawValue), value: $0.count) })
    }

    private func writeCommits(_ page: inout MetricsPage) {
        let writer = hub.writerCounters
        let durations = writer.durations.snapshot
        page.counter(
            "herald_commits_total", "Transactions, by outcome.",
            .init(("outcome", "committed"), value: durations.count),
            .init(("outcome", "failed"), value: writer.failures.load(ordering: .relaxed)))
        page.histogram(
            "herald_commit_duration_seconds", "Transactions that were committed, by their time.", durations)
        page.histogram(
            "herald_commit_batch_events", "Transactions that were committed, by the events in them.",
            writer.batches.snapshot)
    }

    private func writeStorage(_ page: inout MetricsPage) {
        page.gauge(
            "herald_storage_works", "1 while events can be stored, as /readyz says it; else 0.",
            (try? hub.health()) == nil ? 0 : 1)
        page.gauge(
            "herald_last_commit_timestamp_seconds",
            "When a transaction was last committed, since 1970 UTC; 0: none was since the start.",
            .init(value: Double(hub.storage.lastCommit) / 1000))
        page.counter(
            "herald_database_checkpoints_failed_total",
            "Times that the write-ahead log could not be copied into the database.",
            hub.storage.failedCheckpoints)
        page.counter(
            "herald_partition_drops_failed_total", "Tries to drop an empty partition of the database that failed.",
            hub.storage.failedDrops)
        page.counter(
            "herald_reads_failed_total", "Reads of the database that failed, such as at a damaged row or page.",
            hub.storage.failedReads)
        let largest = hub.committed.usage.largest ?? (app: .default, bytes: 0)
        page.gauge(
            "herald_log_largest_app_bytes", "What the app stores that stores most.",
            .init(("app", hub.committed.apps[largest.app]?.settings.name ?? "deleted"), value: largest.bytes))
        let backups = hub.storage.backups
        page.gauge(
            "herald_backup_interval_seconds", "The time between two scheduled backups; 0: none are made.",
            .init(value: Double(backups?.interval ?? 0) / 1000))
        page.gauge(
            "herald_last_backup_timestamp_seconds",
            "When the newest scheduled backup was begun, since 1970 UTC; 0: there is none.",
            .init(value: Double(backups?.last ?? 0) / 1000))
        page.counter("herald_backups_failed_total", "Scheduled backups that failed.", backups?.failures ?? 0)
    }

    private func writeQueues(_ page: inout MetricsPage) {
        let intake = hub.intakeDepth
        page.gauge("herald_intake_events", "Events that wait to be committed.", intake.events)
        page.gauge("herald_intake_bytes", "Bytes of the events that wait to be committed.", intake.bytes)
        page.gauge(
            "herald_intake_events_limit", "Events that may wait before requests are refused with 503.",
            intake.maxEvents)
        page.gauge(
            "herald_intake_bytes_limit", "Bytes that may wait before requests are refused with 503.", intake.maxBytes)
        page.counter(
            "herald_intake_refused_total", "Requests refused with 503 because too much waited.", intake.refusals)
        page.gauge("herald_reads_waiting", "Reads of the store that wait for a thread.", hub.readsWaiting)
    }

    private func writeTraces(_ page: inout MetricsPage) {
        let spans = hub.tracer?.counts ?? SpanCounts()
        page.counter(
            "herald_spans_total",
            "Spans of traces: exported to the collector, or dropped, because too many waited or it refused them.",
            .init(("outcome", "exported"), value: spans.exported), .init(("outcome", "dropped"), value: spans.dropped))
        page.gauge("herald_spans_waiting", "Spans of traces that wait for their export.", spans.waiting)
    }

    private func writeNodes(_ page: inout MetricsPage) {
        let node = hub.nodeMonitor
        page.gauge("herald_nodes", "Nodes that share the store, at the last check of this one.", node.shards.nodes)
        page.gauge(
            "herald_shards", "The shards of the delegates that this node has, of 64 in all.", node.shards.held.number)
        page.counter(
            "herald_shards_moved_total",
            "Shards that this node has taken, released to others, and lost with its session.",
            ShardCounts.Move.allCases.map { .init(("direction", $0.rawValue), value: node.shards.count($0)) })
        page.gauge(
            "herald_delivery_permitted", "1 while attempts may start; 0 while this node has no contact with the store.",
            node.isPermitted ? 1 : 0)
    }

    /// - Returns: `nil` if the read fails, which is counted and reported.
    func found<Value>(_ read: () throws -> Value) -> Value? {
        do {
            return try read()
        } catch {
            if let error = error as? StoreError { hub.storage.requestFailed(error, at: hub.clock.monotonic()) }
            return nil
        }
    }

    private func writeStore(_ page: inout MetricsPage, _ reader: any StoreReader) {
        if let first = found({ try reader.firstEvent() }) {
            page.gauge("herald_log_first_sequence", "The number of the oldest event that is kept.", first)
        }
        if let removals = found({ try reader.removals() }) {
            page.counter(
                "herald_retention_removed_total",
                "What retention has removed since the database was made: events, attempts, and deliveries not made.",
                removals.complete.map {
                    .init(("what", $0.part.rawValue), ("cause", $0.cause.rawValue), value: $0.count)
                })
        }
        if let sizes = found({ try reader.sizes() }) {
            page.gauge(
                "herald_database_size_bytes", "What the database holds; its write-ahead log comes on top.", sizes.used)
            page.gauge(
                "herald_database_part_bytes", "What the parts of the database take; that of attempts is an estimate.",
                .init(("part", "events"), value: sizes.events), .init(("part", "attempts"), value: sizes.attempts),
                .init(("part", "free"), value: sizes.free))
            page.gauge("herald_database_log_bytes", "What the write-ahead log takes on disk.", sizes.log)
        }
    }

    private func write(_ http: HTTPServerStatistics, _ page: inout MetricsPage) {
        page.gauge("herald_http_connections", "Open connections.", http.openConnections)
        page.gauge("herald_http_streams", "Live streams that are open.", http.openStreams)
        page.counter(
            "herald_http_streams_cut_total", "Live streams that were ended because their client did not read.",
            http.cutStreams)
        page.gauge("herald_http_requests_waiting", "Requests that wait for their response.", http.waitingRequests)
        page.counter(
            "herald_http_responses_total", "Responses, by class of their status.",
            .init(("class", "2xx"), value: http.answers2xx), .init(("class", "3xx"), value: http.answers3xx),
            .init(("class", "4xx"), value: http.answers4xx), .init(("class", "5xx"), value: http.answers5xx))
        page.counter(
            "herald_http_connections_expired_total", "Connections that were closed because they were too slow.",
            http.expiredConnections)
        page.counter(
            "herald_http_connections_refused_total",
            "Connections and requests refused for other connections of their address, and event streams put off.",
            .init(("cause", "address"), value: http.refusedByAddress),
            .init(("cause", "event_stream"), value: http.withheldResponses))
        page.gauge(
            "herald_certificate_expiry_timestamp_seconds",
            "When the certificate of the server expires, since 1970 UTC; 0: plain HTTP.",
            .init(value: Double(http.certificateExpiration ?? 0)))
    }
}
