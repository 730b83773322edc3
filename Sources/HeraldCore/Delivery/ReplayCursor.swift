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
