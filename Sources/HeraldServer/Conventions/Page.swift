import HTTPServer
import JSON

/// One page of a list: `{"data": […], "next_cursor": …}` and a `Link` to the next one.
extension Call {
    /// - Parameters:
    ///   - items: up to `limit + 1` of them: the last one only says that there is a next page.
    ///   - cursor: the cursor of the page that follows an item.
    func send<Item>(
        page items: [Item], _ query: Query, limit: Int, cursor: (Item) -> String,
        _ write: (Item, inout JSONObjectWriter) -> Void
    ) {
        let shown = items.prefix(limit)
        send(page: Array(shown), query, next: items.count > limit ? shown.last.map(cursor) : nil, write)
    }

    /// - Parameter next: the cursor of the next page.
    func send<Item>(
        page items: [Item], _ query: Query, next: String?, _ write: (Item, inout JSONObjectWriter) -> Void
    ) {
        var json = JSONWriter(capacity: 256 * (items.count + 1))
        json.object { page in
            page.array("data") { data in
                for item in items { data.object { write(item, &$0) } }
            }
            page.member("next_cursor", next)
        }
        var headers: [Response.Field] = []
        if let next {
            headers.append(.init("Link", "<\(request.head.path)?\(query.with(cursor: next))>; rel=\"next\""))
        }
        send(headers, json.bytes)
    }
}

extension Query {
    /// A cursor that names a position in the log or among attempts.
    func numericCursor() throws(Problem) -> Int64? {
        guard let text = self["cursor"] else { return nil }
        guard let number = Int64(text), number > 0 else {
            throw .invalidParameter("cursor", "must be a next_cursor of an earlier page")
        }
        return number
    }
}
