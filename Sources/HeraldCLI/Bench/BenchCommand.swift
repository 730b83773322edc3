import Glibc
import HeraldHTTP
import HeraldRuntime

extension Command {
    static let bench = Command(
        name: "bench", summary: "measure how fast a server accepts and delivers events",
        details: """
            Publishes real events: they stay in the log of the server, and delegates that want all types get them. Each event is
            one request. With --rate, each event is due at a time of its own and is measured from that time, however late it
            is sent. Without --rate, each connection publishes its next event after the last response.

            --deliver also registers a webhook in this process, with a lease, that wants the events of this run only. It
            measures each event from the time when it was due to its arrival, and is removed at the end. The server must
            run on this machine.

            This program shares the machine with the server. Ctrl-C ends a run early, with the results so far and exit code
            130. The exit code is 1 when an event was not accepted or did not arrive.
            """,
        flags: [
            Flag("connections", "NUMBER", "Number of connections, 1 to 512. Default: 16."),
            Flag("rate", "NUMBER", "Events per second, 1 to 1000000. Default: as fast as possible."),
            Flag("seconds", "NUMBER", "Duration of the run, 1 to 3600. Default: 10."),
            Flag("size", "BYTES", "Size of one event, \(BenchEvent.minBytes) to 16777216. Default: 512."),
            Flag("type", "TYPE", "The type of the events. Default: bench.posted."),
            Flag("deliver", nil, "Also measure until the events arrive at a webhook."),
            Flag("json", nil, "Print the figures as one JSON document."),
        ] + Flags.connection,
        examples: [
            "herald bench --deliver",
            "herald bench --rate 2000 --seconds 60 --connections 64 --json",
        ],
        action: .run(runBench))

    /// How long to wait for missing events at the end, in nanoseconds, unless the user interrupts.
    private static let arrivalTimeout: Int64 = 30_000_000_000
    private static let interruptedArrivalTimeout: Int64 = 2_000_000_000

    private static func runBench(_ call: Invocation) throws(CommandError) {
        let type = call["type"] ?? "bench.posted"
        let subject = "bench:\(getpid())-\(Clock.system.wall())"
        let size = try call.number("size", BenchEvent.minBytes...16_777_216) ?? 512
        let rate = try call.number("rate", 1...1_000_000)
        let plan = BenchLoad.Plan(
            connections: try call.number("connections", 1...512) ?? 16, rate: rate.map(Double.init),
            seconds: try call.number("seconds", 1...3600) ?? 10,
            event: BenchEvent(type: type, subject: subject, size: size))
        let client = try APIClient(call)
        try checkServer(client, plan, call)
        // Must be created before any thread. Until here, Ctrl-C ends the process.
        let signals = Signals()
        let delegate: BenchDelegate? =
            call.has("deliver")
            ? try BenchDelegate(client, type: type, subject: subject, seconds: plan.seconds) : nil
        defer { delegate?.unregister(client) }
        let load = try BenchLoad(plan, call)
        try signals.observe { _, count in
            if count > 0 { _exit(ExitCode.interrupted) }
            load.stop()
        }
        watch(plan, load)
        if let delegate { wait(for: delegate, load) }
        let report = BenchReport(
            plan: plan, load: load.finish(),
            arrived: delegate.map {
                let (latency, last) = $0.result
                return (latency, Double(max(0, last - load.startedAt)) / 1e9)
            })
        try report.print(isJSON: call.has("json"))
        if load.isStopped { throw CommandError("", exitCode: ExitCode.interrupted) }
        if !report.isComplete { throw CommandError("", exitCode: ExitCode.refused) }
    }

    /// Checks that the server exists and accepts such events.
    private static func checkServer(
        _ client: APIClient, _ plan: BenchLoad.Plan, _ call: Invocation
    ) throws(CommandError) {
        if call.has("deliver"), !client.request("GET", []).isToThisMachine {
            throw CommandError(
                "\(client.server) can't call a webhook in this process: --deliver needs a server on this machine.")
        }
        _ = try client.send("POST", ["v1", "events"], query: [("dry_run", "true")], body: plan.event.body)
    }

    /// Shows the progress until every request has its response.
    private static func watch(_ plan: BenchLoad.Plan, _ load: BenchLoad) {
        var progress = ProgressLine()
        while load.isRunning {
            load.wait(milliseconds: 250)
            let seconds = Double(Clock.system.monotonic() - load.startedAt) / 1e9
            progress.show("\(min(plan.seconds, Int(seconds))) of \(plan.seconds) s, \(load.accepted) events")
        }
        progress.end()
    }

    private static func wait(for delegate: BenchDelegate, _ load: BenchLoad) {
        let start = Clock.system.monotonic()
        while delegate.count < load.accepted,
            Clock.system.monotonic() - start < (load.isStopped ? interruptedArrivalTimeout : arrivalTimeout)
        {
            poll(nil, 0, 10)
        }
    }
}
