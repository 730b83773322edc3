package import HeraldModel

/// A search for attempts to call a webhook, newest first, in bounded parts.
package struct AttemptSearch: Sendable {
    package static let isForFailures = "is only for failed attempts: leave out the outcome succeeded"
    /// Attempts of one read, where the store does not evaluate all conditions.
    private static let attemptsPerRead = 1_000
    /// Attempts are in the order of their ends, or nearly. One that ended earlier than this before the wanted time is followed
    /// by earlier ones only. Its begin means nothing: the attempt of a lease takes up to twelve hours.
    private static let slack: Int64 = 600_000

    package var query: AttemptQuery
    /// The errors of the attempts; empty for any outcome.
    package var errors: [DeliveryError] = []
    /// Only attempts that began at this time or later, in milliseconds since 1970 UTC.
    package var since: Int64?
    /// Only attempts that began at this time or before, in milliseconds since 1970 UTC.
    package var until: Int64?

    package init(_ query: AttemptQuery) { self.query = query }

    /// Whether the end of the wanted time is before its begin.
    package var isReversed: Bool { (until ?? .max) < (since ?? .min) }

    /// Whether the store evaluates all conditions.
    private var isPlain: Bool { errors.isEmpty && since == nil && until == nil }

    /// A reader's thread.
    /// - Returns: at most `query.limit` attempts, and the id before which the search continues; `nil` if it is complete.
    package func page(_ reader: any StoreReader) throws(StoreError) -> (found: [StoredAttempt], next: Int64?) {
        var part = query
        if !errors.isEmpty { part.succeeded = false }
        // One more shows that there is another page.
        part.limit = isPlain ? query.limit + 1 : Self.attemptsPerRead
        var found: [StoredAttempt] = []
        for _ in 0..<(AttemptQuery.maxWork / Self.attemptsPerRead) {
            let read = try reader.attempts(part)
            for attempt in read {
                let end = attempt.record.startedAt + attempt.record.duration / 1_000
                if end < (since ?? .min).saturating(minus: Self.slack) { return (found, nil) }
                guard matches(attempt.record) else { continue }
                if found.count == query.limit { return (found, found.last?.id) }
                found.append(attempt)
            }
            guard let last = read.last, read.count == part.limit else { return (found, try rest(of: part, reader)) }
            part.before = last.id
        }
        return (found, part.before)
    }

    /// The attempt before which a search continues that has found fewer than its limit.
    private func rest(of part: AttemptQuery, _ reader: any StoreReader) throws(StoreError) -> Int64? {
        guard let rest = try reader.rest(of: part) else { return nil }
        // Without the attempt of the cursor, the search began at the newest one. Retention removes older ones first.
        if let before = part.before, rest > before,
            try reader.attempts(after: before - 1, limit: 1).first?.id != before
        {
            return nil
        }
        return rest
    }

    private func matches(_ record: AttemptRecord) -> Bool {
        guard record.startedAt >= since ?? .min, record.startedAt <= until ?? .max else { return false }
        return errors.isEmpty || errors.contains { $0.matches(AttemptEnd(record)) }
    }
}

extension Int64 {
    fileprivate func saturating(minus other: Int64) -> Int64 {
        let (difference, isTooSmall) = subtractingReportingOverflow(other)
        return isTooSmall ? .min : difference
    }
}
