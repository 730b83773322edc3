import HeraldRuntime

/// Deliveries about one subject go one at a time, in the order in which they came; different subjects don't wait for each
/// other. Pure.
struct SubjectQueues {
    /// Who stands behind the one that goes. A subject without an entry is free.
    private var lines: [String: FIFO<LogPosition>] = [:]

    var isEmpty: Bool { lines.isEmpty }

    /// Returns whether the delivery may go; else it stands in line.
    mutating func enter(_ subject: String, _ sequence: LogPosition) -> Bool {
        if lines[subject] == nil {
            lines[subject] = FIFO()
            return true
        }
        lines[subject]?.append(sequence)
        return false
    }

    /// The delivery that went has ended.
    /// - Returns: the next one to go.
    mutating func leave(_ subject: String) -> LogPosition? {
        guard let next = lines[subject]?.popFirst() else {
            lines[subject] = nil
            return nil
        }
        return next
    }

    /// Takes a delivery out of the line. Returns whether it stood in it; else it is the one that goes, or not here.
    mutating func remove(_ sequence: LogPosition, _ subject: String) -> Bool {
        guard contains(sequence, subject) else { return false }
        lines[subject]?.removeAll { $0 == sequence }
        return true
    }

    func contains(_ sequence: LogPosition, _ subject: String) -> Bool { lines[subject]?.contains(sequence) == true }

    /// Everyone who stands in a line.
    var standing: [LogPosition] { lines.values.flatMap { $0 }.sorted() }
}
