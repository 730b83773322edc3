import HeraldJSON
import HeraldRuntime

/// The subjects of a selection: exact ones, prefixes (`order:*`), or all. Compared by their bytes, as in the store.
///
/// Part of ``EventSelection``.
package struct SubjectSelection: Hashable, Sendable {
    private struct Patterns: Hashable {
        var exact: Set<ExactText> = []
        /// First those that begin with no other one, in the order of their bytes. Of these a subject can only begin with the
        /// last one that is not behind it, so a thousand prefixes cost ten comparisons for each event.
        var prefixes: [ExactText] = []
        /// The number of prefixes that begin with no other one.
        var starts = 0
    }

    /// In a box: most delegates select no subjects, and each delegate has a choice.
    private indirect enum Choice: Hashable {
        case all
        case listed(Patterns)
    }

    private let choice: Choice

    /// - Parameter patterns: each a subject, or with a `*` at its end a prefix; `*` alone matches every event that has
    ///   a subject. Empty for all events.
    package init(_ patterns: some Sequence<String>) {
        var compiled = Patterns()
        var prefixes: Set<ExactText> = []
        for pattern in patterns {
            if let prefix = Self.prefix(pattern) {
                prefixes.insert(ExactText(prefix))
            } else {
                compiled.exact.insert(ExactText(pattern))
            }
        }
        var others: [ExactText] = []
        for prefix in prefixes.sorted(by: { $0.text.precedes($1.text) }) {
            if let last = compiled.prefixes.last, prefix.text.begins(with: last.text) {
                others.append(prefix)
            } else {
                compiled.prefixes.append(prefix)
            }
        }
        compiled.starts = compiled.prefixes.count
        compiled.prefixes += others
        choice = compiled == Patterns() ? .all : .listed(compiled)
    }

    /// Whether an event with this subject, or without one, matches.
    package func contains(_ subject: String?) -> Bool {
        guard case .listed(let patterns) = choice else { return true }
        guard let subject else { return false }
        if patterns.exact.contains(ExactText(subject)) { return true }
        let prefixes = patterns.prefixes[..<patterns.starts]
        let next = prefixes.firstIndex(ascending: { subject.precedes($0.text) })
        return next > 0 && subject.begins(with: prefixes[next - 1].text)
    }

    /// Whether two lists have a pattern in common, or one of them matches every event.
    package static func overlap(_ one: [String], _ other: [String]) -> Bool {
        one.isEmpty || other.isEmpty || !Set(one.map(ExactText.init)).isDisjoint(with: other.map(ExactText.init))
    }

    /// The original patterns.
    var patterns: Set<String> {
        guard case .listed(let patterns) = choice else { return [] }
        return Set(patterns.exact.map(\.text)).union(patterns.prefixes.map { $0.text + "*" })
    }

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

extension String {
    /// Whether it is before another text in the order of their bytes.
    fileprivate func precedes(_ other: String) -> Bool {
        utf8.span.withUnsafeBytes { bytes in
            other.utf8.span.withUnsafeBytes { others in
                let count = Swift.min(bytes.count, others.count)
                var index = 0
                // Words first: long prefixes of one list have most bytes in common.
                while index + 8 <= count,
                    bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                        == others.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                {
                    index += 8
                }
                while index < count, bytes[index] == others[index] { index += 1 }
                return index < count ? bytes[index] < others[index] : bytes.count < others.count
            }
        }
    }
}
