import HeraldCore
import HeraldHTTP
import HeraldJSON

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

// MARK: Cursors

extension Call {
    /// A number of the log as this app may see it: for a cursor.
    func sealed(_ number: Int64, _ kind: NumberSeal.Kind) -> String { seal.text(number, kind, of: app) }

    func sealed(_ delivery: WaitingDelivery) -> String {
        sealed(delivery.event, .event) + "." + sealed(delivery.delegate, .delegate)
    }

    /// What the query's cursor names, where it is a number that was sealed.
    func cursor(_ query: Query, _ kind: NumberSeal.Kind) throws(Problem) -> Int64? {
        guard let text = query["cursor"] else { return nil }
        guard let number = seal.number(text, kind, of: app) else { throw .noCursor }
        return number
    }

    /// A cursor of the list of deliveries: the numbers of an event and a delegate.
    func deliveryCursor(_ query: Query) throws(Problem) -> DeliveryKey? {
        guard let text = query["cursor"] else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let event = seal.number(parts[0], .event, of: app),
            let delegate = seal.number(parts[1], .delegate, of: app)
        else { throw .noCursor }
        return DeliveryKey(delegate: delegate, event: event)
    }
}

extension Problem {
    /// The same for one of another list, of another app, and one that nobody was ever given.
    static let noCursor = invalidParameter("cursor", "must be a next_cursor of an earlier page")
}
