/// How far a replay has come: a second, bounded position of a lane in the log.
struct ReplayCursor: Equatable {
    let id: Int64
    private(set) var next: LogPosition
    let until: LogPosition
    /// Attempts that are open, ascending.
    private(set) var inFlight: [LogPosition] = []

    init(_ replay: Replay) {
        id = replay.id
        next = replay.cursor + 1
        until = replay.until
    }

    /// There is something to start.
    var hasWork: Bool { next <= until }
    var isOver: Bool { !hasWork && inFlight.isEmpty }
    /// Everything up to here is settled, or has a row of its own.
    var cursor: LogPosition { min(inFlight.first ?? .max, next) - 1 }

    /// It has looked at this event, and at all before it.
    mutating func pass(_ sequence: LogPosition) { next = max(next, sequence + 1) }

    /// It is to start nothing more.
    mutating func end() { pass(until) }

    mutating func started(_ sequence: LogPosition) { inFlight.append(sequence) }

    mutating func ended(_ sequence: LogPosition) {
        if let place = inFlight.firstIndex(of: sequence) { inFlight.remove(at: place) }
    }
}

/// The replays of a lane. The oldest is under way, the others wait for its end.
struct ReplayQueue {
    private(set) var all: [ReplayCursor] = []

    var isEmpty: Bool { all.isEmpty }
    /// Attempts that are open.
    var open: Int { all.first?.inFlight.count ?? 0 }
    var hasWork: Bool { all.first?.hasWork == true }

    /// The event to look at next; `nil`: there is none, or it has to wait.
    /// - Parameter oneByOne: an attempt that is open has to end first.
    func next(oneByOne: Bool) -> LogPosition? {
        guard let replay = all.first, replay.hasWork, !oneByOne || replay.inFlight.isEmpty else { return nil }
        return replay.next
    }

    mutating func append(_ replay: Replay) { all.append(ReplayCursor(replay)) }

    /// The one under way has looked at this event.
    /// - Returns: its id; `nil`: there is none.
    mutating func pass(_ sequence: LogPosition) -> Int64? {
        guard !all.isEmpty else { return nil }
        all[0].pass(sequence)
        return all[0].id
    }

    /// The log begins here now.
    mutating func trim(first: LogPosition) {
        if let replay = all.first, replay.next < first { all[0].pass(first - 1) }
    }

    mutating func started(_ sequence: LogPosition) { all[0].started(sequence) }

    mutating func ended(_ sequence: LogPosition, of id: Int64) {
        if let place = all.firstIndex(where: { $0.id == id }) { all[place].ended(sequence) }
    }

    /// One is to start nothing more.
    /// - Returns: whether it was there.
    mutating func end(_ id: Int64) -> Bool {
        guard let place = all.firstIndex(where: { $0.id == id }) else { return false }
        all[place].end()
        // Only the first has anything open; that one goes when it has ended.
        if place > 0 { all.remove(at: place) }
        return true
    }

    /// Takes the one under way when it is over, so that the next one begins.
    mutating func popOver() -> ReplayCursor? {
        guard let replay = all.first, replay.isOver else { return nil }
        return all.removeFirst()
    }
}
