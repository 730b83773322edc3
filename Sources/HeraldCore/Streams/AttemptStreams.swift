/// All clients that listen to attempts: a delegate of the multicast, told as attempts are written down. It may cross
/// threads as what it inherits from does: it adds nothing that changes.
public final class AttemptStreams: LiveStreams<AttemptLog>, EventDelegate, @unchecked Sendable {
    public init(hub: Hub, format: StreamFormat<LoggedAttempt>) {
        super.init(hub: hub, log: AttemptLog(hub), format: format)
    }

    public func published(_ batch: EventBatch) {}
    public func recordedAttempts() { wake() }
}

/// A client that listens to attempts.
public typealias AttemptStream = LiveStream<AttemptInterest>

/// Which attempts a stream tells of.
public struct AttemptInterest: StreamInterest {
    public let app: AppKey
    /// `nil`: all.
    public let delegate: DelegateKey?
    /// The id of an event; `nil`: all.
    public let event: String?
    /// `nil`: however they ended.
    public let succeeded: Bool?

    public init(
        app: AppKey = .default, delegate: DelegateKey? = nil, event: String? = nil, succeeded: Bool? = nil
    ) {
        self.app = app
        self.delegate = delegate
        self.event = event
        self.succeeded = succeeded
    }

    public func wants(_ attempt: LoggedAttempt) -> Bool {
        let record = attempt.attempt.record
        return attempt.app == app && (delegate == nil || delegate == record.delegate)
            && (event == nil || event == attempt.eventID) && (succeeded == nil || succeeded == record.succeeded)
    }
}

/// An attempt with the names of what it was about.
public struct LoggedAttempt: Sendable {
    public let attempt: StoredAttempt
    public let app: AppKey
    public let delegateID: String
    /// `nil`: the event has left the log.
    public let eventID: String?
}

/// Attempts as they were read, with their names. Those that nobody can be told of any more are left out.
public struct AttemptPage: LogPage {
    public let after: LogPosition
    public private(set) var last: LogPosition
    public private(set) var entries: [LoggedAttempt]

    init(after: LogPosition, last: LogPosition, entries: [LoggedAttempt] = []) {
        self.after = after
        self.last = last
        self.entries = entries
    }

    public func place(_ index: Int) -> LogPosition { entries[index].attempt.id }

    public func rest(after place: LogPosition) -> AttemptPage { rest(after: place, limit: .max) }

    /// What of it comes first after a place within it.
    func rest(after place: LogPosition, limit: Int) -> AttemptPage {
        let rest = entries[count(through: place)...]
        guard rest.count > limit else { return AttemptPage(after: place, last: last, entries: Array(rest)) }
        let some = rest.prefix(limit)
        return AttemptPage(after: place, last: self.place(some.endIndex - 1), entries: Array(some))
    }

    /// - Precondition: `page.after == last`
    mutating func append(_ page: AttemptPage) {
        entries += page.entries
        last = page.last
    }

    private func count(through place: LogPosition) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.place(middle) <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
