enum Suggestion {
    /// The most similar known name.
    static func nearest(_ name: String, _ known: [String]) -> String? {
        // More than half of a short word is not a typo.
        let most = min(3, name.drop { $0 == "-" }.count / 2)
        let best = known.map { ($0, distance(Array(name.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
        return best.flatMap { $0.1 <= most ? $0.0 : nil }
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
