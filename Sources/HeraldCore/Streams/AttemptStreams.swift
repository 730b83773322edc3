import Delegation
import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// All live streams of attempts, called when attempts are recorded. A delegate only to be listed with the others.
/// `@unchecked Sendable` like its superclass: it adds no mutable state.
package final class AttemptStreams: LiveStreams<AttemptLog>, EventDelegate, AttemptObserver, @unchecked Sendable {
    package init(hub: Hub, format: StreamFormat<LoggedAttempt>) {
        super.init(hub: hub, log: AttemptLog(hub), format: format)
        hub.attemptObservers.addDelegate(self)
    }

    package func published(_ batch: EventBatch) {}
    package func recordedAttempts() { wake() }
}

/// A live stream of attempts.
package typealias AttemptStream = LiveStream<AttemptInterest>

/// The attempts of a stream.
package struct AttemptInterest: StreamInterest {
    package let app: AppKey
    /// `nil` for all.
    package let delegate: DelegateKey?
    /// The id of an event; `nil` for all.
    package let event: String?
    /// `nil` for any outcome.
    package let succeeded: Bool?

    package init(
        app: AppKey = .default, delegate: DelegateKey? = nil, event: String? = nil, succeeded: Bool? = nil
    ) {
        self.app = app
        self.delegate = delegate
        self.event = event
        self.succeeded = succeeded
    }

    package var hasFilter: Bool { false }

    package func wants(_ attempt: LoggedAttempt, _ steps: inout Int) -> Bool {
        let record = attempt.attempt.record
        return attempt.app == app && (delegate == nil || delegate == record.delegate)
            && (event == nil || event == attempt.eventID) && (succeeded == nil || succeeded == record.succeeded)
    }
}

/// An attempt with the ids of its delegate and event.
package struct LoggedAttempt: Sendable {
    package let attempt: StoredAttempt
    package let app: AppKey
    package let delegateID: String
    /// `nil` if the event was removed from the log.
    package let eventID: String?
}

/// A page of attempts with their ids, without those that can't be sent to any stream.
package struct AttemptPage: LogPage {
    package let after: LogPosition
    package private(set) var last: LogPosition
    package private(set) var entries: [LoggedAttempt] = []

    package var apps: Set<AppKey> { Set(entries.lazy.map(\.app)) }
    package func place(_ index: Int) -> LogPosition { entries[index].attempt.id }

    package var bytes: Int {
        entries.reduce(0) { $0 + $1.attempt.record.excerpt.count + $1.attempt.record.detail.utf8.count }
    }

    package func rest(after place: LogPosition) -> AttemptPage { rest(after: place, limit: .max) }

    /// The first entries after a position in it.
    func rest(after place: LogPosition, limit: Int) -> AttemptPage {
        let rest = entries[entries.firstIndex(ascending: { $0.attempt.id > place })...]
        guard rest.count > limit else { return AttemptPage(after: place, last: last, entries: Array(rest)) }
        let some = rest.prefix(limit)
        return AttemptPage(after: place, last: self.place(some.endIndex - 1), entries: Array(some))
    }

    /// - Precondition: `page.after == last`
    mutating func append(_ page: AttemptPage) {
        entries += page.entries
        last = page.last
    }
}
