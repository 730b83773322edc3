/// Text in columns. Widths are those of the first rows, so that a long list can be printed as it comes; those of a table
/// that grows become larger with each row that needs it.
struct Table {
    /// What a cell is about, told by its colour.
    enum Tone: String {
        case plain = ""
        case good = "32"
        case waiting = "33"
        case bad = "31"
        case faint = "2"
        case heading = "1"
    }

    struct Cell {
        let text: String
        let tone: Tone

        init(_ text: String, _ tone: Tone = .plain) {
            self.text = text.printable()
            self.tone = tone
        }
    }

    private let columns: [String]
    private var widths: [Int] = []
    private var grows = false

    init(_ columns: String...) { self.columns = columns }

    /// For rows that come one by one.
    var growing: Table {
        var table = self
        table.grows = true
        return table
    }

    /// The lines for these rows, each with one cell for each column.
    /// - Parameter width: that of the terminal; lines are cut there. `nil`: they are as long as they are.
    mutating func lines(_ rows: [[Cell]], width: Int?, usesColor: Bool) -> [String] {
        var all = rows
        let isFirst = widths.isEmpty
        if isFirst || grows {
            widths = columns.indices.map { column in
                let before = isFirst ? columns[column].count : widths[column]
                return max(before, rows.map { $0[column].text.count }.max() ?? 0)
            }
        }
        if isFirst {
            all.insert(columns.map { Cell($0, .heading) }, at: 0)
        }
        return all.map { row in
            var line = ""
            var room = width ?? .max
            for (column, cell) in row.enumerated() where room > 0 {
                let isLast = column == row.count - 1
                var text = cell.text
                if text.count > room { text = String(text.prefix(room - 1)) + "…" }
                let gap = isLast ? 0 : min(max(0, widths[column] - text.count) + 2, room - text.count)
                room -= text.count + gap
                line += Self.colored(text, usesColor ? cell.tone : .plain) + String(repeating: " ", count: gap)
            }
            return line
        }
    }

    static func colored(_ text: String, _ tone: Tone) -> String {
        tone == .plain || text.isEmpty ? text : "\u{1b}[\(tone.rawValue)m\(text)\u{1b}[0m"
    }

    /// Prints the rows.
    mutating func print(_ rows: [[Cell]]) throws(CommandError) {
        for line in lines(rows, width: Output.width, usesColor: Output.usesColor) { try Output.line(line) }
    }
}

extension Table.Cell {
    /// One of the states that delegates, deliveries and attempts have.
    init(state: String) {
        switch state {
        case "active", "delivered", "succeeded", "logged_in": self.init(state, .good)
        case "paused", "pending", "pending_verification", "retrying": self.init(state, .waiting)
        case "failing", "disabled", "gone", "exhausted", "failed": self.init(state, .bad)
        default: self.init(state, .faint)
        }
    }
}
