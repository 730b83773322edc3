import HeraldHTTP
import HeraldJSON
import HeraldRuntime

/// The parameters of a list: `limit`, `iterator`, `order`.
struct SvixPage {
    private enum Order: String { case ascending, descending }

    let limit: Int
    /// The position of the last element of the page before, without the sign of the direction.
    let after: String?
    /// The iterator is one of `prevIterator`.
    let isBackward: Bool
    let isAscending: Bool

    /// Lists of what is stored have one order.
    static let positions = ["limit", "iterator"]
    static let names = positions + ["order"]
    /// No position begins with it. An event type may begin with the sign of Svix, `-`.
    private static let backward: Character = "~"

    init(_ query: Query, isAscending standard: Bool) throws(Problem) {
        limit = try query.number("limit", 1...250) ?? 50
        let order = try query.value("order", "must be ascending or descending") { Order(rawValue: $0) }
        isAscending = order.map { $0 == .ascending } ?? standard
        let iterator = query["iterator"] ?? ""
        isBackward = iterator.first == Self.backward
        after = iterator.isEmpty ? nil : String(isBackward ? iterator.dropFirst() : iterator[...])
        guard after != "", iterator.utf8.count <= 256 else { throw Self.badIterator }
    }

    static let badIterator = Problem.invalidParameter("iterator", "must be an iterator of an earlier page")

    /// An iterator of a list in memory is a text of this form.
    func check(_ isPosition: (String) -> Bool) throws(Problem) {
        if let after, !isPosition(after) { throw Self.badIterator }
    }

    /// The page of elements that are sorted by their ids, ascending.
    func page<Element>(of all: [Element], id: (Element) -> String) -> (shown: [Element], isDone: Bool) {
        let forward = isAscending != isBackward
        let ordered = forward ? all : all.reversed()
        let rest = ordered.filter { element in after.map { forward ? id(element) > $0 : id(element) < $0 } ?? true }
        let shown = Array(rest.prefix(limit))
        return (isBackward ? shown.reversed() : shown, rest.count <= limit)
    }

    static func previous(_ id: String) -> String { String(backward) + id }
}

extension String {
    /// Whether it can be an id: the prefix and a ULID.
    func isID(_ prefix: String) -> Bool {
        let count = prefix.utf8.count + 26
        return hasPrefix(prefix) && utf8.count == count && isPlainName(limit: count) && !contains("-") && !contains(".")
    }
}

extension Call {
    /// `{"data", "iterator", "prevIterator", "done"}`.
    func send<Element>(
        _ shown: [Element], isDone: Bool, id: (Element) -> String, _ write: (Element, inout JSONObjectWriter) -> Void
    ) {
        send { page in
            page.array("data", of: shown, write)
            page.member("iterator", shown.last.map(id))
            page.member("prevIterator", shown.first.map { SvixPage.previous(id($0)) })
            page.member("done", isDone)
        }
    }
}
