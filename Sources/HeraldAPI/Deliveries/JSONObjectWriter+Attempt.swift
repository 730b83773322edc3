import HeraldCore
import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    mutating func members(of attempt: StoredAttempt, id: String, eventID: String?) {
        let record = attempt.record
        member("id", id)
        member("event", eventID)
        member("attempt", record.number)
        member("replay", record.isReplay)
        member("started_at", .timestamp(record.startedAt))
        members(of: AttemptResult(record))
    }

    /// The outcome of a call that is not logged.
    mutating func members(of outcome: CallbackOutcome) { members(of: AttemptResult(outcome)) }

    private mutating func members(of result: AttemptResult) {
        member("outcome", result.succeeded ? "succeeded" : "failed")
        member("duration_ms", Double(result.duration) / 1000)
        member("status_code", result.status)
        member("error", result.failure?.rawValue)
        member("detail", result.hint)
        member("response_excerpt", String(decoding: result.excerpt, as: UTF8.self))
        let transport = result.transport
        object("phases_ms") {
            $0.member("lookup", Double(transport.lookup) / 1000)
            $0.member("connect", Double(transport.connect) / 1000)
            $0.member("tls", Double(transport.tls) / 1000)
            $0.member("first_byte", Double(transport.firstByte) / 1000)
        }
        member("reused_connection", transport.isReused)
        member("peer", transport.peer.isEmpty ? nil : transport.peer)
        member("request_bytes", transport.bytesSent)
        member("response_bytes", transport.bytesReceived)
    }
}
