import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// The processes that share the store, and who has which shards.
struct NodeEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/nodes", needs: .admin, takesQuery: true, list),
            Route(.get, "/v1/nodes/moves", needs: .admin, takesQuery: true, listMoves),
        ]
    }

    /// Newest first. They are few: all are on one page.
    private func list(_ call: Call) throws(Problem) {
        let query = try call.query()
        try call.answer(from: hub) { reader in
            let nodes = try hub.nodes(reader)
            let head = hub.head
            call.send(page: nodes, query, next: nil) { node, json in
                json.member("id", node.node.id)
                json.member("name", node.name)
                json.member("version", node.version)
                json.member("present", node.isPresent)
                json.member("is_self", node.node == hub.nodeMonitor.node)
                json.member("started_at", .timestamp(node.startedAt))
                json.member("seen_at", .timestamp(node.seenAt))
                json.member("left_at", node.leftAt.map { Timestamp(milliseconds: $0) })
                json.array("shards") { list in for shard in node.shards.numbers { list.element(shard) } }
                json.member("lag_events", node.settled.map { max(0, head - $0) })
            }
        }
    }

    /// Newest first, on one page, too.
    private func listMoves(_ call: Call) throws(Problem) {
        let query = try call.query()
        try call.answer(from: hub) { reader in
            call.send(page: try hub.moves(reader), query, next: nil) { move, json in
                json.member("moved_at", .timestamp(move.time))
                json.array("shards") { list in for shard in move.shards.numbers { list.element(shard) } }
                json.member("from", move.from?.id)
                json.member("to", move.to.id)
                json.member("reason", move.from == nil ? "new" : move.isGiven ? "given" : "lost")
            }
        }
    }
}

extension NodeKey {
    /// By which the API shows it, such as `node_0badcafe`.
    var id: String {
        let digits = String(rawValue, radix: 16)
        return "node_" + String(repeating: "0", count: 8 - digits.count) + digits
    }
}
