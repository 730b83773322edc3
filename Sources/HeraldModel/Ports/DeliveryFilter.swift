/// Conditions for deliveries that no index serves: a search evaluates them for each delivery that it reads.
package struct DeliveryFilter: Equatable, Sendable {
    /// The types of the events; empty for all.
    package var types: [EventPattern] = []
    /// The subject of the event; `nil` for any.
    package var subject: String?
    /// The errors of the last attempt; empty for any outcome.
    package var errors: [DeliveryError] = []
    /// Only deliveries whose last attempt failed, and began at this time or later, in milliseconds since 1970 UTC.
    package var failedSince: Int64?
    package init() {}

    package var isEmpty: Bool { self == DeliveryFilter() }

    /// Whether the filter needs the last attempt.
    package var needsFailure: Bool { !errors.isEmpty || failedSince != nil }

    /// - Parameters:
    ///   - type: the type of the event; `nil` if the log no longer has it.
    ///   - last: the last attempt; `nil` if there was none, or if it was removed.
    package func matches(type: String?, subject: String?, last: AttemptEnd?) -> Bool {
        if let wanted = self.subject, subject?.utf8.elementsEqual(wanted.utf8) != true { return false }
        if !types.isEmpty, type.map({ type in types.contains { $0.matches(type) } }) != true { return false }
        if !needsFailure { return true }
        guard let last, !last.succeeded, last.startedAt >= failedSince ?? .min else { return false }
        return errors.isEmpty || errors.contains { $0.matches(last) }
    }
}

/// How an attempt ended.
package struct AttemptEnd: Equatable, Sendable {
    /// The status of the response, `nil` without one.
    package let status: Int?
    /// Why there was no response, `nil` if there was one.
    package let failure: CallbackFailure?
    /// Milliseconds since 1970 UTC.
    package let startedAt: Int64

    package init(status: Int?, failure: CallbackFailure?, startedAt: Int64) {
        self.status = status
        self.failure = failure
        self.startedAt = startedAt
    }

    package init(_ record: AttemptRecord) {
        self.init(status: record.status, failure: record.failure, startedAt: record.startedAt)
    }

    package var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }
}

/// A class of errors of an attempt: a failure without a response, or the status of a response.
public enum DeliveryError: Equatable, Sendable {
    /// There was no response.
    case failure(CallbackFailure)
    /// The status of the response is in this range.
    case status(ClosedRange<Int>)

    /// A description of a valid text.
    package static let words =
        CallbackFailure.allCases.filter { $0 != .stopped }.map(\.rawValue).joined(separator: ", ")
        + ", a status such as 503, or a class of them such as 5xx"

    /// Parses `timeout`, `503` or `5xx`; `nil` if the text has none of these forms.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        if let failure = CallbackFailure(rawValue: String(text)), failure != .stopped {
            self = .failure(failure)
        } else if bytes.count == 3, bytes[1...] == [120, 120], let digit = Int(text.prefix(1)), (1...5).contains(digit)
        {
            self = .status(digit * 100...digit * 100 + 99)
        } else if bytes.count == 3, bytes.allSatisfy({ (48...57).contains($0) }), let status = Int(text), status >= 100
        {
            self = .status(status...status)
        } else {
            return nil
        }
    }

    package func matches(_ end: AttemptEnd) -> Bool {
        switch self {
        case .failure(let failure): end.failure == failure
        case .status(let range): end.status.map(range.contains) ?? false
        }
    }
}
