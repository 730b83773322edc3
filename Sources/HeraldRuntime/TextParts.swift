// Parts of a text, compared by their bytes: found also before a combining character, and never in another normal form. `contains`,
// `firstRange`, `split` and `replacing` with a text belong to Swift's module of regular expressions, which adds 1 MB to the binary:
// script/build refuses them.

extension Collection<UInt8> {
    /// Where these bytes are first; `nil` if they are nowhere, or none.
    @inlinable
    package func place(of part: some Collection<UInt8>) -> Range<Index>? {
        guard let first = part.first else { return nil }
        var rest = self[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: part) { return start..<rest.index(start, offsetBy: part.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}

extension StringProtocol {
    /// Where these bytes are first; `nil` if they are nowhere, or none.
    @inlinable
    package func place(of part: String) -> Range<Index>? { utf8.place(of: part.utf8) }

    @inlinable
    package func holds(_ part: String) -> Bool { place(of: part) != nil }

    /// The texts before, between and after the separators: one more than there are separators.
    @inlinable
    package func pieces(around separator: String) -> [SubSequence] {
        var pieces: [SubSequence] = []
        var start = startIndex
        while let place = self[start...].place(of: separator) {
            pieces.append(self[start..<place.lowerBound])
            start = place.upperBound
        }
        return pieces + [self[start...]]
    }

    /// With another text for each such part.
    @inlinable
    package func replaced(_ part: String, by other: String) -> String {
        pieces(around: part).joined(separator: other)
    }
}
