import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// One page of a list: `{"data": […], "next_cursor": …}` and a `Link` to the next one.
extension Call {
    /// - Parameters:
    ///   - items: at most `limit + 1` items; the last one only shows that there is a next page.
    ///   - cursor: the cursor of the page after an item.
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
        let json = JSONWriter.document(capacity: 256 * (items.count + 1)) { page in
            page.array("data", of: items, write)
            page.member("next_cursor", next)
        }
        send(next.map { link(toNext: query.with("cursor", $0)) } ?? [], json)
    }

    /// - Parameter query: that of the next page.
    /// - Returns: the `Link`; nothing if the header section of the response would have no room for it.
    func link(toNext query: String) -> [Response.Field] {
        let link = "<\(publicURL.base + request.head.path)?\(query)>; rel=\"next\""
        return link.utf8.count <= Self.maxLinkBytes ? [.init("Link", link)] : []
    }

    private static let maxLinkBytes = 2_048
}

extension Call {
    /// A page of what memory has all of, the newest first: ids are in the order in which they were made.
    /// - Parameter prefix: what the ids begin with, such as `app_`.
    func send<Item>(
        newestFirst items: [Item], ids prefix: String, id: (Item) -> String,
        _ write: (Item, inout JSONObjectWriter) -> Void
    ) throws(Problem) {
        let query = try query("limit", "cursor")
        let limit = try query.limit()
        let cursor = try query.cursor(ofIDs: prefix)
        let rest = items.filter { item in cursor.map { id(item) < $0 } ?? true }
        send(page: Array(rest.prefix(limit + 1)), query, limit: limit, cursor: id, write)
    }
}

// MARK: Cursors

extension Call {
    /// A number of the log, encrypted for this app: for a cursor.
    func sealed(_ number: Int64, _ kind: NumberSeal.Kind) -> String { seal.text(number, kind, of: app) }

    /// - Parameter state: that of the list: each state has its own order.
    func sealed(_ delivery: DeliveryKey, in state: DeliveryState?) -> String {
        state.nameInCursors + "." + sealed(delivery.event, .event) + "." + sealed(delivery.delegate, .delegate)
    }

    /// The number in the query's cursor.
    func cursor(_ query: Query, _ kind: NumberSeal.Kind) throws(Problem) -> Int64? {
        guard let text = query["cursor"] else { return nil }
        guard let number = seal.number(text, kind, of: app) else { throw .noCursor }
        return number
    }

    /// A cursor of the list of deliveries in a state: the numbers of an event and a delegate.
    func deliveryCursor(_ query: Query, in state: DeliveryState?) throws(Problem) -> DeliveryKey? {
        guard let text = query["cursor"] else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == state.nameInCursors,
            let event = seal.number(parts[1], .event, of: app), let delegate = seal.number(parts[2], .delegate, of: app)
        else { throw .noCursor }
        return DeliveryKey(delegate: delegate, event: event)
    }
}

extension DeliveryState? {
    fileprivate var nameInCursors: String { self?.rawValue ?? "all" }
}

extension Problem {
    /// The problem of a cursor that is invalid, or of another list, state, order or app.
    static let noCursor = invalidParameter("cursor", "must be a next_cursor of an earlier page")
}
