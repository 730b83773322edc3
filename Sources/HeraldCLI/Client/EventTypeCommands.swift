import HeraldJSON

extension Command {
    static let eventTypes = Command(
        name: "event-types", summary: "describe the types of events, and check their data",
        action: .group([
            listing(
                name: "list", summary: "list the described types, by name", path: { _ in ["v1", "event-types"] },
                none: "No types have a description.",
                Table(.text("TYPE"), "CHECK", "SCHEMA", .time("UPDATED"), .text("DESCRIPTION")),
                row: { type in
                    let schema = Table.Cell(type["schema"]?.isNull == false ? "yes" : "no")
                    return type.cells("type", "check") + [schema] + type.cells("updated_at", "description")
                }),
            Command(
                name: "show", summary: "show the description of a type", arguments: [type], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try Listing.show(call, "GET", path(call))
                }),
            Command(
                name: "set", summary: "describe a type",
                details: "Replaces the whole description: what you do not give is removed.",
                arguments: [type],
                flags: [
                    Flag("description", "TEXT", "Its meaning, for people."),
                    Flag("example", "JSON|@FILE", "Example data of such an event."),
                    Flag("schema", "JSON|@FILE", "A JSON Schema for the data."),
                    Flag(
                        "check", "CHECK", "What happens to data that does not match the schema: off, report, enforce.",
                        values: ["off", "report", "enforce"]),
                    Flag("assert-formats", nil, "Check the formats in the schema, too."),
                ] + Flags.client,
                examples: ["herald event-types set order.paid --schema @order.json --check enforce"],
                action: .run { call throws(CommandError) in
                    let (example, schema) = (try call.json("example"), try call.json("schema"))
                    let body = JSONWriter.document {
                        $0.member("description", ifPresent: call["description"])
                        $0.member("example", ifPresent: example)
                        $0.member("schema", ifPresent: schema)
                        $0.member("check", ifPresent: call["check"])
                        if call.has("assert-formats") { $0.member("assert_formats", true) }
                    }
                    try Listing.show(call, "PUT", path(call), body: body)
                }),
            Command(
                name: "remove", summary: "remove the description of a type; its events can still be published",
                arguments: [type], flags: [Confirmation.flag] + Flags.client,
                action: .run { call throws(CommandError) in
                    let client = try APIClient(call)
                    try Confirmation.ask(call, isNamed: true) {
                        "Remove the description of \(call.arguments[0]) from \(client.server)?"
                    }
                    let answer = try client.send("DELETE", path(call))
                    try Listing(call).print(answer, "Removed \(call.arguments[0]).")
                }),
        ]))

    private static let type = Argument(name: "TYPE", help: "The type of event: order.paid.")

    private static func path(_ call: Invocation) -> [String] { ["v1", "event-types", call.arguments[0]] }
}
