import HeraldCore
import HeraldJSON
import HeraldRuntime
import Synchronization

/// Prints the response to each event: rows for people, JSON for scripts. Used by one thread.
final class ForwardingPrinter {
    private let isJSON: Bool
    private let interruption: Interruption
    private var table = Table("TIME", "EVENT", .text("TYPE"), "RESPONSE", "MS", .text("DETAIL"))

    init(_ call: Invocation, _ interruption: Interruption) {
        isJSON = call.has("json")
        self.interruption = interruption
    }

    func print(_ result: Forwarder.Result) throws(CommandError) {
        try interruption.protect { () throws(CommandError) in
            if isJSON { try Output.line(json: json(result)) } else { try table.print([row(result)]) }
        }
    }

    private func row(_ result: Forwarder.Result) -> [Table.Cell] {
        let outcome = result.outcome
        let time = Timestamp(milliseconds: Clock.system.wall()).description.dropFirst(11).prefix(8)
        var details = outcome.detail.map { [$0] } ?? []
        if result.attempts > 1 { details.append(outcome.isSuccess ? "attempt \(result.attempts)" : "exhausted") }
        return [
            .init(String(time), .faint), .init(result.event.id), .init(result.event.type),
            .init(outcome.status.map(String.init) ?? "none", outcome.isSuccess ? .good : .bad),
            .init(Self.milliseconds(outcome.duration)), .init(details.joined(separator: "; ")),
        ]
    }

    private func json(_ result: Forwarder.Result) -> [UInt8] {
        JSONWriter.document {
            $0.member("event", result.event.id)
            $0.member("type", result.event.type)
            $0.member("outcome", result.outcome.isSuccess ? "succeeded" : "failed")
            $0.member("status_code", result.outcome.status)
            $0.member("duration_ms", Double(result.outcome.duration) / 1000)
            $0.member("attempts", result.attempts)
            $0.member("detail", result.outcome.detail)
        }
    }

    /// With one decimal below 10.
    private static func milliseconds(_ microseconds: Int64) -> String {
        microseconds < 10_000
            ? "\(microseconds / 1000).\(microseconds / 100 % 10)" : "\(microseconds / 1000)"
    }
}

extension CallbackOutcome {
    fileprivate var status: Int? {
        if case .answered(let status, _) = verdict { return status }
        return nil
    }

    /// Why there is no response.
    fileprivate var detail: String? {
        if case .failed(_, let detail) = verdict { return detail }
        return nil
    }
}

/// Counts forwarded events for the last line. Any thread.
final class ForwardingTally: Sendable {
    private struct Count {
        var succeeded = 0
        var failed = 0
        var last: String?
    }

    private let count = Mutex(Count())

    func count(_ event: String, isSuccess: Bool) {
        count.withLock {
            if isSuccess { $0.succeeded += 1 } else { $0.failed += 1 }
            $0.last = event
        }
    }

    var summary: String {
        let count = count.withLock { $0 }
        guard let last = count.last else { return "Nothing was forwarded.\n" }
        return "\(count.succeeded) succeeded, \(count.failed) failed; continue with --after \(last)\n"
    }
}
