import HeraldCore
import HeraldJSON

extension JSONObjectWriter {
    mutating func members(of attempt: StoredAttempt, id: String, eventID: String?) {
        let record = attempt.record
        member("id", id)
        member("event", eventID)
        member("attempt", record.number)
        member("replay", record.isReplay)
        member("started_at", .timestamp(record.startedAt))
        members(
            of: AttemptResult(
                status: record.status, failure: record.failure, detail: record.detail, duration: record.duration,
                excerpt: record.excerpt, transport: record.transport))
    }

    /// The outcome of a call that is not logged.
    mutating func members(of outcome: CallbackOutcome) {
        var status: Int?
        var failure: CallbackFailure?
        var detail = ""
        switch outcome.verdict {
        case .answered(let answered, _): status = answered
        case .failed(let reason, let words): (failure, detail) = (reason, words)
        }
        members(
            of: AttemptResult(
                status: status, failure: failure, detail: detail, duration: outcome.duration,
                excerpt: outcome.excerpt, transport: outcome.transport))
    }

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

/// The outcome of an attempt, logged or not.
private struct AttemptResult {
    let status: Int?
    let failure: CallbackFailure?
    let detail: String
    /// Microseconds.
    let duration: Int64
    let excerpt: [UInt8]
    let transport: TransportRecord

    var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }

    /// An explanation of the failure.
    var hint: String? {
        if !detail.isEmpty { return detail }
        switch status {
        case .some(300...399): return "redirects are never followed; register the address that they point to"
        case .some(410): return "the receiver says that this address is gone"
        case .some(let status) where !(200...299).contains(status): return "only a status from 200 to 299 is a success"
        default: return nil
        }
    }
}
