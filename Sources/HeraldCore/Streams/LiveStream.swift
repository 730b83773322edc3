package import HeraldModel
import Synchronization

/// The filter of a stream. Streams with equal filters share the serialized entries.
package protocol StreamInterest: Hashable, Sendable {
    associatedtype Entry
    var app: AppKey { get }
    /// - Parameter steps: the steps of a content filter are added.
    func wants(_ entry: Entry, _ steps: inout Int) -> Bool
    /// Whether ``wants(_:_:)`` takes steps.
    var hasFilter: Bool { get }
}

/// A stream has the same conditions as a webhook.
extension EventSelection: StreamInterest {
    package func wants(_ event: Event, _ steps: inout Int) -> Bool {
        guard hasFilter else { return matches(event) { EventView(event) } }
        let view = EventView(event)
        defer { steps += view.steps }
        return matches(view)
    }

    package var hasFilter: Bool { filter != nil }
}

/// A client of a live stream: a delegate of the kind `stream`.
///
/// State that is neither constant nor atomic belongs to the streams' thread, which is why `@unchecked Sendable` is
/// correct.
package final class LiveStream<Interest: StreamInterest>: @unchecked Sendable {
    /// `dlg_` and a ULID, new with each connection.
    package let id: String
    package let interest: Interest
    /// A description of the client.
    package let description: String
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64

    enum Phase {
        /// A reader is searching for its start.
        case starting
        /// It reads the log after this position, until it has reached the end. Usually followed by `live`.
        case behind(after: LogPosition)
        /// It gets entries with all others of its channel. Back to `behind` if its client does not read fast enough.
        case live
        /// The final phase.
        case closed
    }
    var phase = Phase.starting
    let output: any StreamOutput
    /// Identifies it while it waits for a page.
    let number: Int64
    /// The index in its channel while it is live.
    var index = 0
    /// Its position while it is behind; -1 otherwise.
    private let shownPlace = Atomic<LogPosition>(-1)

    init(
        id: String, number: Int64, interest: Interest, description: String, createdAt: Int64, output: any StreamOutput
    ) {
        self.id = id
        self.number = number
        self.interest = interest
        self.description = description
        self.createdAt = createdAt
        self.output = output
    }

    /// The streams' thread.
    func move(to phase: Phase) {
        self.phase = phase
        if case .behind(let place) = phase { shownPlace.store(place, ordering: .relaxed) }
        if case .live = phase { shownPlace.store(-1, ordering: .relaxed) }
    }

    /// Its position while it is behind; `nil` otherwise. Any thread.
    var place: LogPosition? {
        let place = shownPlace.load(ordering: .relaxed)
        return place < 0 ? nil : place
    }
}
