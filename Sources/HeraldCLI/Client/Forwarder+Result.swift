import HeraldJSON
import HeraldModel
import HeraldRuntime

extension Forwarder.Result {
    var row: [Table.Cell] {
        let time = Timestamp(milliseconds: Clock.system.wall()).description.dropFirst(11).prefix(8)
        let (status, _, detail) = outcome.verdict.parts
        var details = status == nil ? [detail] : []
        if attempts > 1 { details.append(outcome.isSuccess ? "attempt \(attempts)" : "exhausted") }
        return [
            .init(String(time), .faint), .init(event.id), .init(event.type),
            .init(status.map(String.init) ?? "none", outcome.isSuccess ? .good : .bad),
            .init(Self.milliseconds(outcome.duration)), .init(details.joined(separator: "; ")),
        ]
    }

    var json: [UInt8] {
        let (status, _, detail) = outcome.verdict.parts
        return JSONWriter.document {
            $0.member("event", event.id)
            $0.member("type", event.type)
            $0.member("outcome", outcome.isSuccess ? "succeeded" : "failed")
            $0.member("status_code", status)
            $0.member("duration_ms", Double(outcome.duration) / 1000)
            $0.member("attempts", attempts)
            $0.member("detail", status == nil ? detail : nil)
        }
    }

    /// With one decimal below 10.
    private static func milliseconds(_ microseconds: Int64) -> String {
        microseconds < 10_000
            ? "\(microseconds / 1000).\(microseconds / 100 % 10)" : "\(microseconds / 1000)"
    }
}
