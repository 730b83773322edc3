import HeraldCore
import HeraldModel

/// The conditions of Svix's lists of attempts and of attempted messages.
struct SvixConditions: Sendable {
    /// All of them have a counterpart, except tags.
    static let names = [
        "status", "channel", "tag", "before", "after", "with_content", "event_types", "expanded_statuses",
    ]
    static let namesOfAttempts = names + ["status_code_class", "with_msg"]

    let status: SvixStatus?
    /// In milliseconds since 1970 UTC, both inclusive.
    let since: Int64?
    let until: Int64?
    private let codes: ClosedRange<Int>?
    private let types: [EventPattern]
    private let channel: String?

    init(_ query: Query) throws(Problem) {
        try query.refuse("tag")
        // Attempts are listed when they have ended: no status is left out without it.
        _ = try query.flag("expanded_statuses")
        if try query.flag("with_msg") {
            throw .invalidParameter("with_msg", "must be false: get the message by its id")
        }
        status = try query.svixStatus()
        since = try query.time("after")
        until = try query.time("before")
        types = try query.svixTypes()
        channel = try query.svixChannel()
        let first = try query.value("status_code_class", "must be one of 0, 100, 200, 300, 400 and 500") { text in
            Int(text).flatMap { Self.classes.contains($0) ? $0 : nil }
        }
        codes = first.map { first in first...first + 99 }
    }

    private static let classes: Set = [0, 100, 200, 300, 400, 500]

    /// - Parameter event: `nil` if the log no longer has it, or if it is damaged.
    func match(_ event: Event?) -> Bool {
        guard !types.isEmpty || channel != nil else { return true }
        guard let event else { return false }
        return (types.isEmpty || types.contains { $0 == .any || $0.matches(event.type) })
            && (channel.map(event.channels.contains) ?? true)
    }

    /// The conditions on an attempt. No attempt that has ended is pending, sending or canceled.
    func match(_ record: AttemptRecord) -> Bool {
        record.startedAt >= since ?? .min && record.startedAt <= until ?? .max
            && (codes?.contains(record.status ?? 0) ?? true)
            && (status.map { $0 == (record.succeeded ? .success : .fail) } ?? true)
    }
}

/// The status of a message or an attempt.
enum SvixStatus: Int, Sendable {
    case success, pending, fail, sending, canceled

    /// As `svix-server` has it: a delivery that failed and is retried is `sending`.
    init(_ state: DeliveryState) {
        self =
            switch state {
            case .delivered: .success
            case .pending: .pending
            case .retrying: .sending
            case .exhausted, .dropped: .fail
            }
    }
}

extension Query {
    /// `event_types`, with commas.
    func svixTypes() throws(Problem) -> [EventPattern] {
        guard let text = self["event_types"] else { return [] }
        var patterns: [EventPattern] = []
        for word in text.split(separator: ",") {
            guard let pattern = EventPattern(String(word)), patterns.count < 50 else {
                throw .invalidParameter("event_types", "must be at most 50 types, with commas")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    func svixChannel() throws(Problem) -> String? {
        try value("channel", "must be 1 to 128 of A-Z, a-z, 0-9, -, _ and .") { EventChannels.isName($0) ? $0 : nil }
    }

    fileprivate func svixStatus() throws(Problem) -> SvixStatus? {
        try value("status", "must be 0 (success), 1 (pending), 2 (fail), 3 (sending) or 4 (canceled)") { text in
            Int(text).flatMap(SvixStatus.init(rawValue:))
        }
    }
}
