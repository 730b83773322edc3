/// Which subjects are meant: some, those that begin with a text (`order:*`), or any.
///
/// Part of ``EventSelection``.
package struct SubjectSelection: Hashable, Sendable {
    private let exact: Set<String>
    private let prefixes: [String]

    /// - Parameter patterns: each a subject, or with a `*` at its end the beginning of one; `*` alone means every event that has
    ///   a subject. Empty: any event.
    package init(_ patterns: some Sequence<String>) {
        var exact: Set<String> = []
        var prefixes: Set<String> = []
        for pattern in patterns {
            if let prefix = Self.prefix(pattern) { prefixes.insert(prefix) } else { exact.insert(pattern) }
        }
        self.exact = exact
        self.prefixes = prefixes.sorted()
    }

    /// Whether an event about this, or about nothing, is meant.
    package func contains(_ subject: String?) -> Bool {
        if exact.isEmpty && prefixes.isEmpty { return true }
        guard let subject else { return false }
        return exact.contains(subject) || prefixes.contains { subject.begins(with: $0) }
    }

    /// The patterns that it was made of.
    var patterns: Set<String> { exact.union(prefixes.map { $0 + "*" }) }

    /// What a pattern wants subjects to begin with; `nil`: it is a subject itself.
    package static func prefix(_ pattern: String) -> String? {
        pattern.utf8.last == UInt8(ascii: "*") ? String(pattern.dropLast()) : nil
    }

    /// What is wrong with a pattern, in words.
    package static func problem(_ pattern: String) -> String? {
        guard !pattern.isEmpty, pattern.unicodeScalars.count <= EventInput.maxSubjectCharacters else {
            return "must be a string of 1 to \(EventInput.maxSubjectCharacters) characters"
        }
        return (prefix(pattern) ?? pattern).utf8.contains(UInt8(ascii: "*"))
            ? "may have one * at its end, which means every subject that begins so, and none elsewhere" : nil
    }
}
