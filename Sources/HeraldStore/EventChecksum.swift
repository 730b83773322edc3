import CHeraldXXHash
package import HeraldModel

/// The checksum of an event's row: it covers the position and everything that is served or sent, so damage is detected
/// when the row is read. Where a server gives an event its position at the commit, the checksum is computed for position 0,
/// and the server combines it with the position by XOR: a wrong position is detected just as well.
///
/// It is 32 bits of XXH3, which hashes faster than memory is read. It detects damage but not forgery: a program that
/// can write the file can also write the checksum.
package struct EventChecksum {
    private var hash: UInt64

    /// - Parameter absent: one bit for each column that is NULL: subject, attributes, audience.
    init(sequence: Int64, app: Int64, time: Int64, audience: Int64, absent: Int64) {
        var numbers = (sequence, app, time, audience, absent)
        hash = withUnsafeBytes(of: &numbers) { herald_hash($0.baseAddress, $0.count, 0) }
    }

    /// The hash of a part includes its length, so that bytes can't move from one column to the next undetected.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        hash = herald_hash(bytes.baseAddress, bytes.count, hash)
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    var value: Int64 { Int64(Int32(truncatingIfNeeded: hash)) }

    /// The checksum of an event to be written.
    /// - Parameter attributes: as stored; `nil` if there are none.
    package static func of(_ event: Event, at sequence: LogPosition, attributes: String?) -> Int64 {
        var checksum = EventChecksum(
            sequence: sequence, app: event.app.rawValue, time: event.time, audience: event.audience ?? 0,
            absent: absent(event.subject == nil, attributes == nil, event.audience == nil))
        checksum.add(event.id)
        checksum.add(event.type)
        checksum.add(event.subject ?? "")
        checksum.add(attributes ?? "")
        event.data.withUnsafeBytes { checksum.add($0) }
        return checksum.value
    }

    /// The checksum of a row of `LoggedEvent.columns`, over the bytes in the file.
    package static func of(_ row: some ResultRow, at sequence: LogPosition) -> Int64 {
        var checksum = EventChecksum(
            sequence: sequence, app: row.integer(1), time: row.integer(5), audience: row.integer(8),
            absent: absent(row.isNull(4), row.isNull(7), row.isNull(8)))
        for column: Int32 in [2, 3, 4, 7, 6] { row.withBytes(column) { checksum.add($0) } }
        return checksum.value
    }

    private static func absent(_ subject: Bool, _ attributes: Bool, _ audience: Bool) -> Int64 {
        (subject ? 1 : 0) | (attributes ? 2 : 0) | (audience ? 4 : 0)
    }
}

/// Reads events and verifies their checksums. All rows become events here.
package struct EventReading: Sendable {
    /// How the checksums of a store cover the positions.
    package enum Checksums: Sendable {
        /// As a part of what is hashed.
        case hashed
        /// By XOR: the position was given at the commit.
        case combined
    }

    private let checksums: Checksums
    private let damaged: DamagedEvents

    package init(_ checksums: Checksums, _ damaged: DamagedEvents) {
        self.checksums = checksums
        self.damaged = damaged
    }

    /// Whether a row of `LoggedEvent.columns` is unchanged since it was written.
    package func isIntact(_ row: some ResultRow) -> Bool {
        let sequence = row.integer(0)
        // A program that changes a row can store a checksum that fits.
        let (range, time, audience) = (0...StoredNumber.limit, row.integer(5), row.integer(8))
        guard range.contains(sequence), range.contains(row.integer(1)), range.contains(audience),
            (-StoredNumber.limit...StoredNumber.limit).contains(time), !row.isNull(9)
        else { return false }
        return switch checksums {
        case .hashed: row.integer(9) == EventChecksum.of(row, at: sequence)
        case .combined: row.integer(9) ^ sequence == EventChecksum.of(row, at: 0)
        }
    }

    /// The event, or `nil` if it is damaged.
    private func intact(_ row: some ResultRow) throws(StoreError) -> LoggedEvent? {
        isIntact(row) ? try LoggedEvent(row) : nil
    }

    /// The event of a row that was found by its app and id.
    package func event(_ row: some ResultRow, app: AppKey, id: String) throws(StoreError) -> LoggedEvent {
        if let event = try intact(row) { return event }
        let sequence = try row.natural(0, "position")
        damaged.record(sequence)
        return LoggedEvent(sequence: sequence, event: .damaged(app: app, id: id))
    }

    /// The event of a row in a list; `nil` if it is damaged, since its app is then unknown.
    package func listed(_ row: some ResultRow) throws(StoreError) -> LoggedEvent? {
        if let event = try intact(row) { return event.event.isDamaged ? nil : event }
        damaged.record(try row.natural(0, "position"))
        return nil
    }

    /// Returns the events of rows, ascending, until their data exceeds `maxBytes`. The log has no gaps, so the
    /// positions of intact events determine those of damaged ones, whose own positions may be wrong.
    /// - Parameters:
    ///   - first: the start of the batch if it is empty.
    ///   - next: the next row.
    package func batch<Row: ResultRow>(
        else first: LogPosition, maxBytes: Int, next: () throws(StoreError) -> Row?
    ) throws(StoreError) -> EventBatch {
        var start: LogPosition?
        var isCertain = false
        var found: [Int] = []
        var events: [Event] = []
        var bytes = 0
        while bytes <= maxBytes, let row = try next() {
            let sequence = try row.natural(0, "position")
            guard let logged = try intact(row) else {
                // It may be behind a gap that retention has made.
                if let start, sequence > start + LogPosition(events.count) { break }
                if start == nil { start = sequence }
                found.append(events.count)
                events.append(.damaged())
                continue
            }
            if !isCertain {
                isCertain = true
                start = sequence - LogPosition(events.count)
            }
            let place = (start ?? sequence) + LogPosition(events.count)
            // A gap that retention has made; or the index of the table is damaged: stop at the last reliable row.
            guard sequence == place else { break }
            events.append(logged.event)
            bytes += logged.event.data.count
        }
        let begin = start ?? first
        for offset in found { damaged.record(begin + LogPosition(offset)) }
        return EventBatch(first: begin, events: events)
    }
}
