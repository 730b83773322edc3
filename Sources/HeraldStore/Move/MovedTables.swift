import CHeraldXXHash
import HeraldModel
import HeraldRuntime

/// The tables that move from one store to another: all data of a server, in rows that are equal in all stores.
///
/// Numbers, keys and sealed values stay, so cursors and secrets do. A store reads and writes each of these tables, whatever
/// its own schema looks like; `MoveEnd.unknownTables` finds what has been added to a schema and not here.
package enum MovedTables {
    /// Written in this order: `server` first, by which an end of a move knows the other one again.
    package static let all = [
        "server", "events", "attempts", "apps", "delegates", "keys", "passes", "event_types", "auth_status",
        "app_states", "answers", "waiting", "lanes", "progress", "replays", "counters", "statistics", "marks",
        "app_blocks", "removals", "unannounced", "heads", "audit", "volumes", "pending",
        "pending_counts", "pending_refused", "leases",
    ]

    /// The tables of a store that a move does not copy.
    /// - Parameter own: those that only this store has, or has in another form.
    package static func unknown(among tables: [String], own: Set<String>) -> [String] {
        tables.filter { !own.contains($0) && !all.contains($0) }
    }

    /// The tables that have another form in at least one of the stores.
    private static let fixed: [String: [MovedColumn]] = [
        // As it is stored: encrypted if there is a proof of a key.
        "server": [MovedColumn(name: "secret", kind: .blob), MovedColumn(name: "proof", kind: .blob)],
        // The common position of all lanes that have no row.
        "progress": [MovedColumn(name: "settled", kind: .integer)],
        // The last number that was given to a replay.
        "counters": [MovedColumn(name: "replay", kind: .integer)],
        // Without the changes that request deliveries, which do not move.
        "waiting": WaitingDelivery.columns.pieces(around: ", ").map { MovedColumn(name: String($0), kind: .integer) },
        // The last attempt of each delegate.
        "heads": [MovedColumn(name: "delegate", kind: .integer), MovedColumn(name: "attempt", kind: .integer)],
    ]

    /// The columns of a table.
    /// - Parameter stored: reads those of the store's own table of this name.
    package static func columns<Failure: Error>(
        of table: String, stored: (String) throws(Failure) -> [MovedColumn]
    ) throws(Failure) -> [MovedColumn] {
        if let columns = fixed[table] { return columns }
        let columns = try stored(table)
        guard table == "events" else { return columns }
        // Where `EventReading` and `EventChecksum` expect them.
        let order = LoggedEvent.columns.pieces(around: ", ")
        func place(_ column: MovedColumn) -> Int { order.firstIndex { $0 == column.name } ?? order.count }
        return columns.sorted { place($0) < place($1) }
    }
}

package struct MovedColumn: Hashable, Sendable {
    package enum Kind: Sendable { case integer, real, text, blob }

    package let name: String
    package let kind: Kind

    package init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

extension [MovedColumn] {
    /// The names in SQL.
    package var list: String { map { "\"\($0.name)\"" }.joined(separator: ", ") }
}

/// The values of a row, in the order of the requested columns.
package struct MovedRow: ResultRow, Sendable {
    package var values: [ColumnValue]

    package init(_ values: [ColumnValue]) { self.values = values }

    /// The number of bytes of its texts and blobs.
    package var byteCount: Int {
        values.reduce(0) { sum, value in
            switch value {
            case .text(let text): sum + text.utf8.count
            case .blob(let bytes): sum + bytes.count
            default: sum
            }
        }
    }

    package func isNull(_ column: Int32) -> Bool { if case .null = value(column) { true } else { false } }
    package func integer(_ column: Int32) -> Int64 { value(column).integer ?? 0 }
    package func text(_ column: Int32) -> String { value(column).text ?? "" }
    package func value(_ column: Int32) -> ColumnValue { values[Int(column)] }
    package func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch value(column) {
        case .text(var text): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        case .blob(let bytes): bytes.withUnsafeBytes(body)
        default: body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }
}

/// The number of some rows, and the sum of their hashes, whatever their order.
struct RowSum: Equatable {
    private(set) var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ row: MovedRow) {
        var hash: UInt64 = 0
        for (column, value) in row.values.enumerated() {
            switch value {
            case .null: hash = herald_hash(nil, 0, hash &+ 1)
            case .integer(let number): hash = Self.hash(number, hash &+ 2)
            case .real(let number): hash = Self.hash(Int64(bitPattern: number.bitPattern), hash &+ 3)
            case .text: hash = row.withBytes(Int32(column)) { herald_hash($0.baseAddress, $0.count, hash &+ 4) }
            case .blob: hash = row.withBytes(Int32(column)) { herald_hash($0.baseAddress, $0.count, hash &+ 5) }
            }
        }
        sum &+= hash
        count += 1
    }

    private static func hash(_ number: Int64, _ seed: UInt64) -> UInt64 {
        withUnsafeBytes(of: number.littleEndian) { herald_hash($0.baseAddress, $0.count, seed) }
    }
}
