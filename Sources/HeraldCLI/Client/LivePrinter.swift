import HeraldJSON

/// Prints entries as they arrive: rows for people, JSON for scripts. A signal ends the command between two of them.
struct LivePrinter<Entry> {
    let isJSON: Bool
    let interruption: Interruption
    var table: Table
    let row: (Entry) -> [Table.Cell]
    let json: (Entry) -> [UInt8]

    mutating func print(_ entries: [Entry]) throws(CommandError) {
        guard !entries.isEmpty else { return }
        try interruption.protect { () throws(CommandError) in
            guard isJSON else { return try table.print(entries.map(row)) }
            for entry in entries { try Output.line(json: json(entry)) }
        }
    }
}
