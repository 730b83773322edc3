public import HeraldCore

/// The events of the log, one after the other, as they become durable: the result of `Hub.events`.
///
/// Each iteration reads the log independently and at its own speed. A slow one delays no other, and skips only events
/// that retention has removed. An iteration ends when its task is cancelled or the hub has stopped. It keeps the hub
/// alive until then.
public struct EventSequence: AsyncSequence, Sendable {
    /// An event and its position in the log.
    public typealias Element = PositionedEvent

    private let hub: Hub
    private let position: LogPosition
    private let last: LogPosition?
    private let selection: EventSelection

    fileprivate init(
        _ hub: Hub, after position: LogPosition, through last: LogPosition?, _ selection: EventSelection
    ) {
        self.hub = hub
        self.position = position
        self.last = last
        self.selection = selection
    }

    /// Starts an iteration.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(hub, after: position, through: last, selection)
    }

    /// One iteration.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let hub: Hub
        private let selection: EventSelection
        private let signal: LogSignal
        /// The end of the iteration; `nil` for none.
        private let last: LogPosition?
        /// The last position that was read.
        private var position: LogPosition
        /// The selection was checked.
        private var isChecked = false
        /// Events after `position` that were already read.
        private var page: ArraySlice<Event> = []

        fileprivate init(
            _ hub: Hub, after position: LogPosition, through last: LogPosition?, _ selection: EventSelection
        ) {
            self.hub = hub
            self.position = position
            self.last = last
            self.selection = selection
            signal = LogSignal(hub, "Follows the log: a sequence of events")
        }

        /// The next event; suspends until there is one.
        /// - Returns: `nil` when the task was cancelled or the hub has stopped.
        /// - Throws: `HubError.invalid` if the selection is invalid; `.store` when the log can't be read.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(HubError) -> Element? {
            if !isChecked {
                let problems = selection.problems
                if !problems.isEmpty { throw .invalid(problems) }
                isChecked = true
            }
            while !Task.isCancelled {
                while let event = page.popFirst() {
                    position += 1
                    if let last, position > last { return nil }
                    guard selection.matches(EventView(event)) else { continue }
                    return Element(position: EventPosition(number: position), event: event)
                }
                if let last, position >= last { return nil }
                guard try await read() else { return nil }
            }
            return nil
        }

        /// Fills the page, or waits until it can be.
        /// - Returns: `false` at the end.
        private mutating func read(isolation actor: isolated (any Actor)? = #isolation) async throws(HubError) -> Bool {
            // Read before the log, so that events published before the end of the hub are still returned.
            let isEnd = signal.state.hasEnded
            if let recent = hub.recentEvents(after: position, limit: PageSize.events) {
                page = recent.events[...]
                if page.isEmpty, isEnd { return false }
                if page.isEmpty { await signal.wait { [position] in $0.head > position } }
                return true
            }
            guard let old = await hub.storedEvents(after: position) else {
                if hub.isStopping { return false }
                // Too many reads are waiting.
                try? await Task.sleep(for: .milliseconds(50))
                return true
            }
            let batch: EventBatch
            do throws(StoreError) {
                batch = try old.get()
            } catch {
                throw .store(error)
            }
            page = batch.events[...]
            position = page.isEmpty ? Swift.max(position, hub.head) : batch.first - 1
            return true
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
    /// - Parameters:
    ///   - position: begins behind this position of the log; `.start`: with the oldest event there is; `nil`: with those
    ///     that are published from now on.
    ///   - last: ends behind this position, such as ``lastPosition``; `nil`: goes on with what will be published.
    ///   - selection: which events; by default all but Herald's own.
    /// - Returns: a sequence that ends when the hub stops. Any number of them may exist at once.
    public func events(
        after position: EventPosition? = nil, through last: EventPosition? = nil,
        matching selection: EventSelection = EventSelection()
    ) -> EventSequence {
        EventSequence(self, after: position?.number ?? head, through: last?.number, selection)
    }

    /// The events of the log whose type is this one, or has this prefix.
    ///
    /// ```swift
    /// for try await entry in hub.events(after: lastPosition, matching: "auth.*") { … }
    /// ```
    /// - Parameters:
    ///   - position: begins behind this position of the log; `.start`: with the oldest event there is; `nil`: with those
    ///     that are published from now on.
    ///   - last: ends behind this position, such as ``lastPosition``; `nil`: goes on with what will be published.
    ///   - pattern: a type such as `order.placed`, a prefix such as `order.*`, or `*`.
    /// - Returns: a sequence that ends when the hub stops. If the pattern is invalid, its iterations throw.
    public func events(
        after position: EventPosition? = nil, through last: EventPosition? = nil, matching pattern: String
    ) -> EventSequence {
        events(after: position, through: last, matching: EventSelection(events: [EventPattern(unchecked: pattern)]))
    }

    /// - Returns: `nil` when too many reads wait, or the hub has stopped.
    fileprivate func storedEvents(after position: LogPosition) async -> Result<EventBatch, StoreError>? {
        await withCheckedContinuation { continuation in
            let isTaken = read { reader in
                continuation.resume(
                    returning: reader.flatMap { reader in
                        Result { () throws(StoreError) in
                            try reader.events(after: position, limit: PageSize.events, maxBytes: PageSize.bytes)
                        }
                    })
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }
}
