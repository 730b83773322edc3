import Synchronization

/// What a stream tells of. Streams that ask for the same share what is found out for one of them.
package protocol StreamInterest: Hashable, Sendable {
    associatedtype Entry
    var app: AppKey { get }
    func wants(_ entry: Entry) -> Bool
}

/// A client that listens: a delegate of the kind `stream`.
///
/// What is not constant or atomic belongs to the streams' thread, which is why it may cross threads.
package final class LiveStream<Interest: StreamInterest>: @unchecked Sendable {
    /// `dlg_` and a ULID, new with each connection.
    package let id: String
    package let interest: Interest
    /// Who listens, in a few words.
    package let description: String
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64

    enum Phase {
        /// It is being found out where it begins: until a reader has answered.
        case starting
        /// It is told from the log, after this place, until it has come to its end. The usual way is to `live`.
        case behind(after: LogPosition)
        /// It is told with all others of its channel. Back to `behind` when its client does not read fast enough.
        case live
        /// Never left.
        case closed
    }
    var phase = Phase.starting
    let output: any StreamOutput
    /// Names it among those that wait for a page.
    let number: Int64
    /// The place in its channel while it is live.
    var index = 0
    /// The place up to which it has been told while it is behind; -1: it is not.
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

    /// Up to where it has been told while it is behind; `nil`: it is not. Any thread.
    var place: LogPosition? {
        let place = shownPlace.load(ordering: .relaxed)
        return place < 0 ? nil : place
    }
}
