import HeraldRuntime

/// The page of the documentation that explains the types of problems.
enum ProblemPage {
    /// The text of each section, by the name of the problem.
    static let sections: [String: String] = {
        let page = String(decoding: EmbeddedFile.bytes("problems.md"), as: UTF8.self)
        let parts = page.pieces(around: "\n## ").dropFirst().map { $0.split(separator: "\n", maxSplits: 1) }
        return parts.reduce(into: [:]) { sections, part in
            if part.count == 2 { sections[String(part[0])] = String(part[1].trimmed(while: \.isNewline)) + "\n" }
        }
    }()
}
