package import HeraldModel

/// The outcome of an attempt, logged or not, for display.
package struct AttemptResult: Sendable {
    package let status: Int?
    package let failure: CallbackFailure?
    /// Microseconds.
    package let duration: Int64
    package let excerpt: [UInt8]
    package let transport: TransportRecord
    private let detail: String

    package init(_ record: AttemptRecord) {
        status = record.status
        failure = record.failure
        detail = record.detail
        duration = record.duration
        excerpt = record.excerpt
        transport = record.transport
    }

    /// The outcome of a call that is not logged.
    package init(_ outcome: CallbackOutcome) {
        (status, failure, detail) = outcome.verdict.parts
        duration = outcome.duration
        excerpt = outcome.excerpt
        transport = outcome.transport
    }

    package var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }

    /// An explanation of the failure.
    package var hint: String? {
        if !detail.isEmpty { return detail }
        switch status {
        case .some(304): return "304 is not a valid response to a callback; only a status from 200 to 299 is a success"
        case .some(300...399): return "redirects are never followed; register the address that they point to"
        case .some(410): return "the receiver responded with 410: the address no longer exists"
        case .some(let status) where !(200...299).contains(status): return "only a status from 200 to 299 is a success"
        default: return nil
        }
    }
}
