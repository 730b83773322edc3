/// Text in columns. A list is printed as it comes: columns become wider with each row that needs it, as far as the screen has
/// room for it.
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

    struct Column: ExpressibleByStringLiteral {
        let name: String
        /// Whether it may be cut where the screen is narrow. Times, numbers and ids say nothing then.
        var isText = false

        init(stringLiteral name: String) { self.name = name }
        init(_ name: String, isText: Bool = false) {
            self.name = name
            self.isText = isText
        }

        static func text(_ name: String) -> Column { Column(name, isText: true) }
    }

    /// What a column of text gets at least, and what an id of Herald's own fits in.
    private static let leastWidth = 8
    private static let idWidth = 32

    private let columns: [Column]
    /// What the widest cells need that were there.
    private var widths: [Int] = []

    init(_ columns: Column...) { self.columns = columns }

    /// The lines for these rows, each with one cell for each column.
    /// - Parameter width: that of the terminal, which no line is wider than. `nil`: nothing is cut.
    mutating func lines(_ rows: [[Cell]], width: Int?, usesColor: Bool) -> [String] {
        let isFirst = widths.isEmpty
        let all = (isFirst ? [columns.map { Cell($0.name, .heading) }] : []) + rows
        widths = columns.indices.map { column in
            max(isFirst ? 0 : widths[column], all.map { $0[column].text.count }.max() ?? 0)
        }
        let fitted = width.map(widths(within:)) ?? widths
        return all.map { row in
            var line = ""
            var room = width ?? .max
            for (column, cell) in row.enumerated() where room > 0 {
                let most = min(fitted[column], room)
                let text = cell.text.count > most ? cell.text.prefix(most - 1) + "…" : cell.text
                let isLast = column == row.count - 1
                let gap = isLast ? 0 : min(fitted[column] + Self.gap, room) - text.count
                room -= text.count + gap
                line += Self.colored(text, usesColor ? cell.tone : .plain) + String(repeating: " ", count: gap)
            }
            return line
        }
    }

    private static let gap = 2

    /// What the columns get on a screen: those of text share what the others leave, and none gets more than it needs.
    private func widths(within width: Int) -> [Int] {
        var room = width - Self.gap * (columns.count - 1) - widths.reduce(0, +)
        guard room < 0 else { return widths }
        // The narrowest first: what it doesn't need is for the others.
        let texts = columns.indices.filter { columns[$0].isText || widths[$0] > Self.idWidth }
            .sorted { widths[$0] < widths[$1] }
        room += texts.reduce(0) { $0 + widths[$1] }
        var fitted = widths
        for (index, column) in texts.enumerated() {
            fitted[column] = min(widths[column], max(room / (texts.count - index), Self.leastWidth))
            room -= fitted[column]
        }
        return fitted
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
