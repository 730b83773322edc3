import HeraldJSON

/// Prints entries as they arrive: rows for people, JSON for scripts. A signal ends the command between two of them.
final class LivePrinter<Entry> {
    private let isJSON: Bool
    private let interruption: Interruption
    private var table: Table
    private let row: (Entry) -> [Table.Cell]
    private let json: (Entry) -> [UInt8]

    init(
        _ call: Invocation, _ interruption: Interruption, _ table: Table, row: @escaping (Entry) -> [Table.Cell],
        json: @escaping (Entry) -> [UInt8]
    ) {
        isJSON = call.has("json")
        self.interruption = interruption
        self.table = table
        self.row = row
        self.json = json
    }

    func print(_ entries: [Entry]) throws(CommandError) {
        guard !entries.isEmpty else { return }
        try interruption.protect { () throws(CommandError) in
            guard isJSON else { return try table.print(entries.map(row)) }
            for entry in entries { try Output.line(json: json(entry)) }
        }
    }
}
