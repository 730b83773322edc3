/// A duration as people write it: `90s`, `30m`, `36h`, `7d`.
enum DurationText {
    private static let units: [(letter: Character, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
    ]

    /// `nil` if the text is invalid.
    static func milliseconds(_ text: String) -> Int64? {
        guard let last = text.last, let unit = units.first(where: { $0.letter == last }),
            text.utf8.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) == true,
            let number = Int64(text.dropLast()), (1...1_000_000).contains(number)
        else { return nil }
        return number * unit.milliseconds
    }

    /// In the largest unit that divides it.
    static func text(milliseconds: Int64) -> String {
        let unit = units.first { milliseconds % $0.milliseconds == 0 }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.letter)" } ?? "\(milliseconds)ms"
    }
}
