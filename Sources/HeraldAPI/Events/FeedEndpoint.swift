import HeraldCore
import HeraldDelivery
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Reads the log forward from a position that the client keeps, and waits for events.
struct FeedEndpoint: Sendable {
    let hub: Hub
    let feed: EventFeed
    let waits: ReceiverWaits
    let access: AccessControl

    /// - Parameters:
    ///   - wanted: the selected events; the position is added.
    ///   - after: the position of the client.
    func read(_ call: Call, _ query: Query, _ wanted: EventQuery, after: String) throws(Problem) {
        for name in ["since", "until", "cursor", "id_prefix", "filter", "delivery"] where query[name] != nil {
            throw .invalidParameter(name, "can't be combined with after, which is the position and the order")
        }
        guard let beginning = StreamEndpoints.start(after, call) else {
            throw .invalidParameter(
                "after", "must be \(PositionInput.words), the next of an earlier response, \"earliest\" or \"now\"")
        }
        let seconds = try query.wait()
        var wanted = wanted
        wanted.limit = try query.limit()
        wanted.maxBytes = hub.maxListBytes
        let selected = wanted
        try call.answer(from: hub) { reader in
            var selected = selected
            let (position, isLost) = try position(beginning, after, call, reader)
            selected.after = position
            var page = try feed.page(selected, reader)
            page.isTruncated = page.isTruncated || isLost
            guard let seconds, page.events.isEmpty, !page.hasMore, !page.isTruncated else {
                return send(page, call, query)
            }
            selected.after = page.next
            try wait(selected, seconds, call, query)
        }
    }

    /// - Returns: the position, and whether the log does not contain that of the client.
    private func position(
        _ beginning: StreamEndpoints.Beginning, _ text: String, _ call: Call, _ reader: any StoreReader
    ) throws -> (LogPosition, isLost: Bool) {
        guard case .after(let find) = beginning else { return (hub.head, false) }
        if let found = try find(reader) { return (found.number, false) }
        guard let place = call.seal.place(text, .event, of: call.app) else {
            throw Problem.invalidParameter(
                "after", "is no event of the log: it never was, or it was removed; \"earliest\" begins with the oldest")
        }
        // Retention has removed what followed, or the log of a backup is shorter than it was.
        return (min(max(place, try reader.firstEvent() - 1), try reader.lastEvent()), true)
    }

    private func wait(_ selected: EventQuery, _ seconds: Int, _ call: Call, _ query: Query) throws(Problem) {
        guard let wait = waits.begin(for: call.app) else { throw .tooManyWaits }
        feed.wait(selected, seconds: seconds) { result in
            defer { withExtendedLifetime(wait) {} }
            // The key may have been revoked since the request.
            guard access.isValid(call.principal) else { return call.send(.unauthorized) }
            switch result {
            case .success(let page): send(page, call, query)
            case .failure(let error): call.send(Problem(error))
            }
        }
    }

    private func send(_ page: EventFeed.Page, _ call: Call, _ query: Query) {
        let next = call.seal.place(page.next, .event, of: call.app)
        let json = JSONWriter.document(capacity: 256 * (page.events.count + 1)) { feed in
            feed.array("data", of: page.events) { $1.members(of: $0.event) }
            feed.member("next_cursor", JSONNull())
            feed.member("next", next)
            feed.member("more", page.hasMore)
            feed.member("truncated", page.isTruncated)
        }
        call.send(call.link(toNext: query.with("after", next)), json)
    }
}
