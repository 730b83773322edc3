import HeraldModel

/// The progress of a replay: a second, bounded position of a lane in the log.
struct ReplayCursor: Equatable {
    let id: Int64
    private(set) var next: LogPosition
    let until: LogPosition
    /// Open attempts, ascending.
    private(set) var inFlight: [LogPosition] = []

    init(_ replay: Replay) {
        id = replay.id
        next = replay.cursor + 1
        until = replay.until
    }

    /// There is something to start.
    var hasWork: Bool { next <= until }
    var isOver: Bool { !hasWork && inFlight.isEmpty }
    /// Every event up to here is settled, or has its own row.
    var cursor: LogPosition { min(inFlight.first ?? .max, next) - 1 }

    /// Records that the replay has read this event and all before it.
    mutating func pass(_ sequence: LogPosition) { next = max(next, sequence + 1) }

    /// Starts nothing further.
    mutating func end() { pass(until) }

    mutating func started(_ sequence: LogPosition) { inFlight.append(sequence) }

    mutating func ended(_ sequence: LogPosition) {
        if let place = inFlight.firstIndex(of: sequence) { inFlight.remove(at: place) }
    }
}

/// The replays of a lane. The oldest one runs, the others wait for its end.
struct ReplayQueue {
    private(set) var all: [ReplayCursor] = []
    /// The id of the last one that was added. Ids ascend.
    private var last: Int64 = 0

    var isEmpty: Bool { all.isEmpty }
    /// Open attempts, ascending.
    var inFlight: [LogPosition] { all.first?.inFlight ?? [] }
    var open: Int { inFlight.count }
    var hasWork: Bool { all.first?.hasWork == true }

    /// The event to read next; `nil` if there is none, or if it must wait.
    /// - Parameter oneByOne: an open attempt must end first.
    func next(oneByOne: Bool) -> LogPosition? {
        guard let replay = all.first, replay.hasWork, !oneByOne || replay.inFlight.isEmpty else { return nil }
        return replay.next
    }

    /// Adds a replay, once: a lane that was just taken may have read it from the store, and have ended it, before the notification
    /// arrives.
    mutating func append(_ replay: Replay) {
        guard replay.id > last else { return }
        last = replay.id
        all.append(ReplayCursor(replay))
    }

    /// Records that the running replay has read this event.
    /// - Returns: the id of the replay; `nil` if there is none.
    mutating func pass(_ sequence: LogPosition) -> Int64? {
        guard !all.isEmpty else { return nil }
        all[0].pass(sequence)
        return all[0].id
    }

    /// Passes positions that are no longer in the log.
    /// - Returns: whether a replay was about to read one of them.
    mutating func skip(_ gap: Range<LogPosition>) -> Bool {
        var hasMoved = false
        for index in all.indices where all[index].hasWork && gap.contains(all[index].next) {
            all[index].pass(gap.upperBound - 1)
            hasMoved = true
        }
        return hasMoved
    }

    mutating func started(_ sequence: LogPosition) { all[0].started(sequence) }

    mutating func ended(_ sequence: LogPosition, of id: Int64) {
        if let place = all.firstIndex(where: { $0.id == id }) { all[place].ended(sequence) }
    }

    /// Starts nothing further of a replay.
    /// - Returns: whether the replay exists.
    mutating func end(_ id: Int64) -> Bool {
        guard let place = all.firstIndex(where: { $0.id == id }) else { return false }
        all[place].end()
        // Only the first replay has open attempts; it is removed when they have ended.
        if place > 0 { all.remove(at: place) }
        return true
    }

    /// Removes the running replay if it has finished, so that the next one starts.
    mutating func popOver() -> ReplayCursor? {
        guard let replay = all.first, replay.isOver else { return nil }
        return all.removeFirst()
    }
}
