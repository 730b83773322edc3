enum Suggestion {
    /// Names of commands here and in other tools.
    private static let synonyms = [
        ["add", "create", "new", "register"], ["remove", "delete", "revoke", "rm"],
        ["change", "update", "edit", "set"], ["show", "get"], ["list", "ls"], ["delegates", "webhooks", "endpoints"],
        ["publish", "send"],
    ]

    /// The known name that means the same, is the most similar, or begins this one: `--timeout` for `--timeout-seconds`.
    static func nearest(_ name: String, _ known: [String]) -> String? {
        let names = synonyms.first { $0.contains(name) } ?? []
        if let synonym = names.first(where: { known.contains($0) }) { return synonym }
        // More than half of a short word is not a typo, and neither are three of eight letters.
        let length = name.drop { $0 == "-" }.count
        let most = min(length / 2, length > 8 ? 3 : 2)
        let best = known.map { ($0, distance(Array(name.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
        if let best, best.1 <= most { return best.0 }
        return known.first { name.hasPrefix($0 + "-") }
    }

    /// Levenshtein's edit distance.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let substituted = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, min(row[column], diagonal) + 1)
            }
        }
        return row[right.count]
    }
}
