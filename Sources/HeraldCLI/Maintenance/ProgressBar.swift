import Glibc

struct ProgressBar {
    private static let width = 40
    private let isShown = isatty(2) == 1
    private var shown = -1

    mutating func show(_ copied: Int, of all: Int) {
        let percent = all > 0 ? copied * 100 / all : 100
        guard isShown, percent != shown else { return }
        shown = percent
        let full = percent * Self.width / 100
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        Output.control("\r[\(bar)] \(percent) %\u{1b}[K")
    }

    func end() {
        if isShown, shown >= 0 { Output.control("\r\u{1b}[K") }
    }
}
