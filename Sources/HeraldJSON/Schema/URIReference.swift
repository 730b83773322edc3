/// A URI reference, split into its parts and resolved against a base: RFC 3986, sections 5.2 and appendix B.
///
/// Texts that are no URI references are split as well; equal texts have equal parts.
struct URIReference: Hashable, Sendable {
    private var scheme: Substring?
    private var authority: Substring?
    private var path: Substring
    private var query: Substring?
    /// Without the `#`; `nil` if there is none.
    let fragment: Substring?

    init(_ text: String) {
        var rest = text[...]
        func cut(_ separator: Character) -> Substring? {
            guard let at = rest.firstIndex(of: separator) else { return nil }
            defer { rest = rest[..<at] }
            return rest[rest.index(after: at)...]
        }
        fragment = cut("#")
        query = cut("?")
        if let colon = rest.firstIndex(where: { ":/".contains($0) }), rest[colon] == ":", colon > rest.startIndex {
            scheme = rest[..<colon]
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = rest[..<end]
            rest = rest[end...]
        }
        path = rest
    }

    /// The text without the fragment: what names a document.
    var document: String {
        (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path + (query.map { "?" + $0 } ?? "")
    }

    /// The bytes that another reference is resolved against.
    var length: Int {
        (scheme?.utf8.count ?? 0) + (authority?.utf8.count ?? 0) + path.utf8.count + (query?.utf8.count ?? 0)
    }

    /// Refers to the document that contains it.
    var isFragmentOnly: Bool { scheme == nil && authority == nil && path.isEmpty && query == nil }

    func resolved(against base: URIReference) -> URIReference {
        var result = self
        result.scheme = scheme ?? base.scheme
        guard scheme == nil, authority == nil else {
            result.path = Self.withoutDots(path)
            return result
        }
        result.authority = base.authority
        if path.isEmpty {
            result.path = base.path
            result.query = query ?? base.query
        } else if path.hasPrefix("/") {
            result.path = Self.withoutDots(path)
        } else {
            let folder = base.path.lastIndex(of: "/").map { base.path[...$0] } ?? (base.authority == nil ? "" : "/")
            result.path = Self.withoutDots(folder + path)
        }
        return result
    }

    /// Resolves the segments `.` and `..`.
    private static func withoutDots(_ path: Substring) -> Substring {
        guard path.contains("/"), path.contains(".") else { return path }
        var segments: [Substring] = []
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { segments.append("") }
            case "..":
                // The empty segment before the first slash stays.
                if segments.count > 1 || segments.first?.isEmpty == false { segments.removeLast() }
                if isLast { segments.append("") }
            default: segments.append(part)
            }
        }
        return segments.joined(separator: "/")[...]
    }
}
