import HeraldJSON

/// The subjects of a selection: exact ones, prefixes (`order:*`), or all. Compared by their bytes, as in the store.
///
/// Part of ``EventSelection``.
package struct SubjectSelection: Hashable, Sendable {
    private let exact: Set<ExactText>
    private let prefixes: Set<ExactText>

    /// - Parameter patterns: each a subject, or with a `*` at its end a prefix; `*` alone matches every event that has
    ///   a subject. Empty for all events.
    package init(_ patterns: some Sequence<String>) {
        var exact: Set<ExactText> = []
        var prefixes: Set<ExactText> = []
        for pattern in patterns {
            if let prefix = Self.prefix(pattern) {
                prefixes.insert(ExactText(prefix))
            } else {
                exact.insert(ExactText(pattern))
            }
        }
        self.exact = exact
        self.prefixes = prefixes
    }

    /// Whether an event with this subject, or without one, matches.
    package func contains(_ subject: String?) -> Bool {
        if isAll { return true }
        guard let subject else { return false }
        return exact.contains(ExactText(subject)) || prefixes.contains { subject.begins(with: $0.text) }
    }

    /// Whether both have a pattern in common, or one of them matches every event.
    package func overlaps(_ other: SubjectSelection) -> Bool {
        isAll || other.isAll || !exact.isDisjoint(with: other.exact) || !prefixes.isDisjoint(with: other.prefixes)
    }

    private var isAll: Bool { exact.isEmpty && prefixes.isEmpty }

    /// The original patterns.
    var patterns: Set<String> { Set(exact.map(\.text)).union(prefixes.map { $0.text + "*" }) }

    /// The prefix of a pattern; `nil` if it is an exact subject.
    package static func prefix(_ pattern: String) -> String? {
        // By bytes: the asterisk may be part of a character.
        pattern.utf8.last == UInt8(ascii: "*") ? String(Substring(pattern.utf8.dropLast())) : nil
    }

    /// Why a pattern is invalid.
    package static func problem(_ pattern: String) -> String? {
        guard !pattern.isEmpty, pattern.unicodeScalars.count <= EventInput.maxSubjectCharacters else {
            return "must be a string of 1 to \(EventInput.maxSubjectCharacters) characters"
        }
        return (prefix(pattern) ?? pattern).utf8.contains(UInt8(ascii: "*"))
            ? "may have one * at its end, which means every subject that begins so, and none elsewhere" : nil
    }
}
