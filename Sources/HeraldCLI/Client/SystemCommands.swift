import HeraldJSON

extension Command {
    static let storage = Command(
        name: "storage", summary: "show what the storage takes, its budgets, backups and removals",
        flags: Flags.client,
        action: .run { call throws(CommandError) in
            try Listing.show(
                call, "GET", ["v1", "storage"],
                named: [
                    "events": "events and other data", "free_bytes": "free bytes in the database",
                    "log_bytes": "bytes of the write-ahead log", "works": "storage works",
                    "failed_backups": "failed backups since the start",
                ])
        })

    static let nodes = Command(
        name: "nodes", summary: "list the nodes that share the store, and the moves of their shards",
        action: .group([
            Command(
                name: "list", summary: "list the nodes, newest first", flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try listAll(
                        call, ["v1", "nodes"],
                        Table("ID", "PRESENT", "SHARDS", "LAG", .time("SEEN"), "VERSION", .text("NAME"))
                    ) { node in
                        let isPresent = node["present"]?.bool == true
                        let present = Table.Cell(isPresent ? "yes" : "no", isPresent ? .good : .faint)
                        let shards = Table.Cell("\(node["shards"]?.count ?? 0)")
                        return node.cells("id") + [present, shards]
                            + node.cells("lag_events", "seen_at", "version", "name")
                    }
                }),
            Command(
                name: "moves", summary: "list the moves of shards within the last day, newest first",
                flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try listAll(
                        call, ["v1", "nodes", "moves"],
                        Table(.time("TIME"), .id("FROM"), .id("TO"), "REASON", .text("SHARDS"))
                    ) { $0.cells("moved_at", "from", "to", "reason", "shards") }
                }),
        ]))

    /// A list that the server returns as a whole.
    private static func listAll(
        _ call: Invocation, _ path: [String], _ table: Table, row: (JSONValue) -> [Table.Cell]
    ) throws(CommandError) {
        let client = try APIClient(call)
        guard let data = try client.send("GET", path).json["data"], data.kind == .array else {
            throw client.notHerald("its response is not a list")
        }
        if Listing(call).isJSON {
            for element in data.elements { try Output.line(json: element.bytes) }
        } else {
            var table = table
            try table.print(data.elements.map(row))
        }
    }
}
