import HeraldRuntime

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
        enum Kind {
            case plain
            /// May be truncated on a narrow screen. Truncated times, numbers and ids would be useless.
            case text
            /// The id of another resource than that of the row. Narrow: its end, which differs between ids of one time.
            case id
            /// Narrow: relative to now.
            case time
            /// Narrow: its host.
            case url
        }

        let name: String
        let kind: Kind
        /// Only in the wide form.
        private(set) var isDetail = false

        init(stringLiteral name: String) { self.init(name, .plain) }
        private init(_ name: String, _ kind: Kind) {
            self.name = name
            self.kind = kind
        }

        static func text(_ name: String) -> Column { Column(name, .text) }
        static func id(_ name: String) -> Column { Column(name, .id) }
        static func time(_ name: String) -> Column { Column(name, .time) }
        static func url(_ name: String) -> Column { Column(name, .url) }

        var detail: Column {
            var column = self
            column.isDetail = true
            return column
        }

        var mayBeCut: Bool { kind == .text || kind == .url }

        func narrow(_ cell: Cell, now: Int64) -> Cell {
            switch kind {
            case .plain, .text: cell
            case .id: Cell(ShortText.id(cell.text), cell.tone)
            case .time: Cell(ShortText.time(cell.text, now: now), cell.tone)
            case .url: Cell(ShortText.host(cell.text), cell.tone)
            }
        }
    }

    enum Form: String, CaseIterable {
        /// Short ids, relative times, and hosts instead of URLs: on a terminal, unless another form is chosen.
        case narrow
        case wide
    }

    /// The minimum width of a text column, which fits Herald's own ids.
    private static let leastWidth = 8
    private static let idWidth = 32
    /// The width of a narrow table that is not on a terminal.
    private static let narrowWidth = 80

    private let allColumns: [Column]
    private var columns: [Column] { form == .wide ? allColumns : allColumns.filter { !$0.isDetail } }
    private let form: Form
    /// The widest cells so far.
    private var widths: [Int] = []

    init(_ columns: Column...) { self.init(columns, Output.width == nil ? .wide : .narrow) }

    /// The table in the form that the command line names, if it does.
    func formed(_ call: Invocation) -> Table {
        guard let form = call[Flags.output.name].flatMap(Form.init), form != self.form else { return self }
        return Table(allColumns, form)
    }

    private init(_ columns: [Column], _ form: Form) {
        allColumns = columns
        self.form = form
    }

    /// The lines for these rows, each with one cell per column.
    /// - Parameter width: the width of the terminal, which limits the lines; `nil` for no limit.
    mutating func lines(_ rows: [[Cell]], width: Int?, usesColor: Bool) -> [String] {
        let now = Clock.system.wall()
        let rows =
            form == .wide
            ? rows
            : rows.map { row in
                zip(allColumns, row).filter { !$0.0.isDetail }.map { $0.narrow($1, now: now) }
            }
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
        let texts = columns.indices.filter { columns[$0].mayBeCut || widths[$0] > Self.idWidth }
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

    mutating func print(_ rows: [[Cell]]) throws(CommandError) {
        let width = Output.width ?? (form == .narrow ? Self.narrowWidth : nil)
        for line in lines(rows, width: width, usesColor: Output.usesColor) { try Output.line(line) }
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
