import Glibc

/// One line on the terminal, which shows how far a command is. Elsewhere it is not shown.
struct ProgressLine {
    private static let isShown = isatty(2) == 1 && !Output.isDumb
    private var text = ""

    mutating func show(_ new: @autoclosure () -> String) {
        guard Self.isShown else { return }
        let new = new()
        if new != text { Output.control("\r\(new)\u{1b}[K") }
        text = new
    }

    mutating func end() {
        if !text.isEmpty { Output.control("\r\u{1b}[K") }
        text = ""
    }
}
