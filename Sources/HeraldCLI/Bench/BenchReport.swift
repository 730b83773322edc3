import Glibc
import HeraldJSON

/// The result of a run: a table for people, JSON for scripts.
struct BenchReport {
    let plan: BenchLoad.Plan
    let load: BenchLoad.Result
    /// From the first due time to the last arrival, in seconds; `nil` without a webhook.
    let arrived: (latency: BenchHistogram, seconds: Double)?

    var isComplete: Bool {
        load.errors.isEmpty && load.unsent == 0 && load.accepted.count > 0
            && (arrived.map { $0.latency.count >= load.accepted.count } ?? true)
    }

    private static let percentiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)]

    func print(isJSON: Bool) throws(CommandError) {
        if isJSON { return try Output.line(json: json) }
        let pace = plan.rate.map { "\(Self.rounded($0)) events per second" } ?? "as fast as possible"
        try Output.line(
            "\(Self.rounded(load.seconds)) s, \(plan.connections) connections, \(pace), \(plan.event.body.count) bytes per event\n"
        )
        var table = Table("EVENTS", "COUNT", "PER SECOND", "P50 MS", "P95 MS", "P99 MS", "P99.9 MS", "MAX MS")
        var rows = [row("accepted", load.accepted, load.seconds)]
        if let arrived { rows.append(row("arrived", arrived.latency, arrived.seconds)) }
        try table.print(rows)
        var notes = load.errors.sorted { $0.value > $1.value }.map { "\($0.value) not accepted: \($0.key)" }
        if load.unsent > 0 { notes.append("\(load.unsent) not sent: all connections were waiting for responses") }
        if let arrived, arrived.latency.count < load.accepted.count {
            notes.append("\(load.accepted.count - arrived.latency.count) did not arrive")
        }
        if !notes.isEmpty { try Output.line("") }
        for note in notes { try Output.line(Table.colored(note.printable(), Output.usesColor ? .bad : .plain)) }
    }

    private func row(_ name: String, _ latency: BenchHistogram, _ seconds: Double) -> [Table.Cell] {
        let times = Self.percentiles.map { latency.percentile($0.1) } + [latency.max]
        return [.init(name), .init("\(latency.count)"), .init("\(Int(Self.rate(latency, seconds)))")]
            + times.map { .init(Self.rounded(Double($0) / 1000)) }
    }

    private var json: [UInt8] {
        JSONWriter.document {
            $0.member("seconds", load.seconds)
            $0.member("connections", plan.connections)
            $0.member("rate", plan.rate)
            $0.member("size", plan.event.body.count)
            $0.object("accepted") { members(of: load.accepted, load.seconds, &$0) }
            if let arrived { $0.object("arrived") { members(of: arrived.latency, arrived.seconds, &$0) } }
            $0.object("errors") {
                for (what, count) in load.errors.sorted(by: { $0.key < $1.key }) { $0.member(what, count) }
            }
            $0.member("not_sent", load.unsent)
        }
    }

    private func members(of latency: BenchHistogram, _ seconds: Double, _ json: inout JSONObjectWriter) {
        json.member("count", latency.count)
        json.member("per_second", Self.rate(latency, seconds))
        json.object("latency_ms") {
            for (name, part) in Self.percentiles { $0.member(name, Double(latency.percentile(part)) / 1000) }
            $0.member("max", Double(latency.max) / 1000)
        }
    }

    private static func rate(_ latency: BenchHistogram, _ seconds: Double) -> Double {
        seconds > 0 ? Double(latency.count) / seconds : 0
    }

    /// Three significant digits, or all digits before the decimal point.
    private static func rounded(_ value: Double) -> String {
        let digits = value < 10 ? 2 : value < 100 ? 1 : 0
        let scale = [1.0, 10, 100][digits]
        let number = Int((value * scale).rounded())
        guard digits > 0 else { return "\(number)" }
        let (whole, part) = number.quotientAndRemainder(dividingBy: Int(scale))
        return "\(whole)." + (digits == 2 && part < 10 ? "0" : "") + "\(part)"
    }
}
