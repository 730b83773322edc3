/// The page of the documentation that explains the types of problems.
enum ProblemPage {
    /// The text of each section, by the name of the problem.
    static let sections: [String: String] = {
        let page = String(decoding: EmbeddedFile.bytes("problems.md"), as: UTF8.self)
        let parts = page.split(separator: "\n## ").dropFirst().map { $0.split(separator: "\n", maxSplits: 1) }
        return Dictionary(parts.compactMap { $0.count == 2 ? (String($0[0]), trimmed($0[1]) + "\n") : nil }) { $1 }
    }()

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0.isNewline }
        return String(start[..<(start.lastIndex { !$0.isNewline }.map(start.index(after:)) ?? start.endIndex)])
    }
}
