public import HeraldCore
public import HeraldModel

/// The events of the log, one after the other, as they become durable: what `Hub.events` returns as an opaque type.
struct EventSequence: AsyncSequence, Sendable {
    typealias Element = PositionedEvent
    typealias Failure = HubError

    fileprivate let hub: Hub
    /// The last position before the first event.
    fileprivate let position: LogPosition
    /// The end of the iteration; `nil` for none.
    fileprivate let last: LogPosition?
    fileprivate let selection: EventSelection

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        typealias Failure = HubError

        private let sequence: EventSequence
        private let signal: LogSignal
        /// The last position that was read.
        private var position: LogPosition
        /// The selection was checked.
        private var isChecked = false
        /// Events after `position` that were already read.
        private var page: ArraySlice<Event> = []

        fileprivate init(_ sequence: EventSequence) {
            self.sequence = sequence
            position = sequence.position
            signal = LogSignal(sequence.hub, "Follows the log: a sequence of events")
        }

        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(HubError) -> Element? {
            if !isChecked {
                let problems = sequence.selection.problems
                if !problems.isEmpty { throw .invalid(problems) }
                isChecked = true
            }
            do throws(HubError) {
                return try await following()
            } catch {
                switch error {
                case .stopping where sequence.last == nil, .cancelled where sequence.last == nil: return nil
                default: throw error
                }
            }
        }

        /// - Throws: also when the task was cancelled or the hub has stopped.
        private mutating func following(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(HubError) -> Element? {
            while true {
                if let last = sequence.last, position >= last { return nil }
                if Task.isCancelled { throw .cancelled }
                guard let event = page.popFirst() else {
                    try await read()
                    continue
                }
                position += 1
                if let last = sequence.last, position > last { return nil }
                guard sequence.selection.matches(EventView(event)) else { continue }
                return Element(position: EventPosition(rawValue: position), event: event)
            }
        }

        /// Fills the page, or waits until it can be.
        /// - Throws: `.stopping` at the end of the log of a hub that has stopped.
        private mutating func read(isolation actor: isolated (any Actor)? = #isolation) async throws(HubError) {
            // Read before the log, so that events published before the end of the hub are still returned.
            let isEnd = signal.state.hasEnded
            if let recent = sequence.hub.recentEvents(after: position, limit: PageSize.events) {
                page = recent.events[...]
                guard page.isEmpty else { return }
                if isEnd { throw .stopping }
                return await signal.wait { [position] in $0.head > position }
            }
            // Read before the store: what is published in between is not skipped.
            let head = sequence.hub.head
            let batch = try await sequence.hub.reading { [position] reader in
                try reader.events(after: position, limit: PageSize.events, maxBytes: PageSize.bytes)
            }
            page = batch.events[...]
            position = page.isEmpty ? Swift.max(position, head) : batch.first - 1
        }
    }
}

private enum PageSize {
    static let events = 256
    static let bytes = 1 << 20
}

extension Hub {
    /// The events of the log as a sequence, once they are on disk.
    ///
    /// ```swift
    /// for try await entry in hub.events() { print(entry.position, entry.event.type) }
    /// ```
    ///
    /// Each iteration reads the log independently and at its own speed. A slow one delays no other, and skips only events
    /// that retention has removed. It keeps the hub alive until its end.
    /// - Parameters:
    ///   - position: begins after this position of the log; `.start`: with the oldest event there is; `nil`: with those
    ///     that are published from now on. A position beyond the end of the log counts as its end.
    ///   - last: the last position, such as ``lastPosition``; `nil`: continues with future events.
    ///   - selection: which events; by default all but Herald's own.
    /// - Returns: a sequence. Without an end it ends when the hub stops or the task is cancelled. With an end it returns all events
    ///   up to there, or throws `HubError.stopping` or `.cancelled`. Each throws `.invalid` if the selection is invalid, and `.store`
    ///   when the log can't be read. Any number of them may exist at once.
    public func events(
        after position: EventPosition? = nil, through last: EventPosition? = nil,
        matching selection: EventSelection = EventSelection()
    ) -> some AsyncSequence<PositionedEvent, HubError> & Sendable {
        // A position of a log that a backup has replaced may be beyond the end of this one.
        let head = head
        return EventSequence(
            hub: self, position: min(position?.rawValue ?? head, head), last: last?.rawValue, selection: selection)
    }

    /// The events of the log whose type is this one, or has this prefix.
    ///
    /// ```swift
    /// for try await entry in hub.events(after: lastPosition, matching: "auth.*") { … }
    /// ```
    /// - Parameters:
    ///   - position: begins after this position of the log; `.start`: with the oldest event there is; `nil`: with those
    ///     that are published from now on.
    ///   - last: the last position, such as ``lastPosition``; `nil`: continues with future events.
    ///   - pattern: a type such as `order.placed`, a prefix such as `order.*`, or `*`.
    /// - Returns: a sequence, as above. If the pattern is invalid, its iterations throw.
    public func events(
        after position: EventPosition? = nil, through last: EventPosition? = nil, matching pattern: String
    ) -> some AsyncSequence<PositionedEvent, HubError> & Sendable {
        events(after: position, through: last, matching: EventSelection(events: [EventPattern(unchecked: pattern)]))
    }
}
