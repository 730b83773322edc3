extension Command {
    static let subjects = Command(
        name: "subjects", summary: "erase what is stored about a subject",
        action: .group([
            Command(
                name: "erase",
                summary: "erase all that is stored about a subject, for example when a person demands it",
                details: """
                    Erases the data of all events about the subject, their deliveries and attempts, and its login status. The empty
                    events stay in the log. This cannot be undone. Backups are not changed.
                    """,
                arguments: [Argument(name: "SUBJECT", help: "The subject of the events: user:42.")],
                flags: [Confirmation.flag] + Flags.client,
                examples: ["herald subjects erase user:42"],
                action: .run { call throws(CommandError) in
                    let subject = call.arguments[0]
                    let client = try APIClient(call)
                    try Confirmation.ask(call) { "Erase all that is stored about \(subject), for ever?" }
                    // A path can't contain all subjects.
                    let answer = try client.send("DELETE", ["v1", "subjects"], query: [("subject", subject)])
                    try Listing(call).print(answer)
                })
        ]))
}
