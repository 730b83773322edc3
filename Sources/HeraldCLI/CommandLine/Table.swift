/// Text in columns. A list is printed as it arrives: columns become wider with each row that needs it, if the screen
/// has space.
struct Table {
    /// The meaning of a cell, shown by its color.
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
        /// Whether it may be truncated on a narrow screen. Truncated times, numbers and ids would be useless.
        var isText = false

        init(stringLiteral name: String) { self.name = name }
        init(_ name: String, isText: Bool = false) {
            self.name = name
            self.isText = isText
        }

        static func text(_ name: String) -> Column { Column(name, isText: true) }
    }

    /// The minimum width of a text column, which fits Herald's own ids.
    private static let leastWidth = 8
    private static let idWidth = 32

    private let columns: [Column]
    /// The widest cells so far.
    private var widths: [Int] = []

    init(_ columns: Column...) { self.columns = columns }

    /// The lines for these rows, each with one cell per column.
    /// - Parameter width: the width of the terminal, which limits the lines; `nil` for no limit.
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

    /// The column widths on a screen: text columns share the space that the others leave, and none gets more than it
    /// needs.
    private func widths(within width: Int) -> [Int] {
        var room = width - Self.gap * (columns.count - 1) - widths.reduce(0, +)
        guard room < 0 else { return widths }
        // The narrowest first: the space that it does not need is left for the others.
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
    /// A state of a delegate, delivery or attempt.
    init(state: String) {
        switch state {
        case "active", "delivered", "succeeded", "logged_in": self.init(state, .good)
        case "paused", "pending", "pending_verification", "retrying": self.init(state, .waiting)
        case "failing", "disabled", "gone", "exhausted", "failed": self.init(state, .bad)
        default: self.init(state, .faint)
        }
    }
}
