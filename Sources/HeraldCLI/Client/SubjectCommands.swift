extension Command {
    static let subjects = Command(
        name: "subjects", summary: "forget what is known of a subject",
        action: .group([
            Command(
                name: "erase", summary: "erase all that is known of a subject, as a person may demand",
                details: """
                    What events about it say, their deliveries and attempts, and whether it is logged in. That they happened
                    stays in the log. This can't be undone, and backups are yours to care for.
                    """,
                arguments: [Argument(name: "SUBJECT", help: "As events name it: user:42.")],
                flags: [Confirmation.flag] + Flags.client,
                examples: ["herald subjects erase user:42"],
                action: .run { call throws(CommandError) in
                    let subject = call.arguments[0]
                    let client = try APIClient(call)
                    try Confirmation.ask(call) { "Erase all that is known of \(subject), for ever?" }
                    // A path can't carry all subjects.
                    let answer = try client.send("DELETE", ["v1", "subjects"], query: [("subject", subject)])
                    try Listing(call).print(answer)
                })
        ]))
}
