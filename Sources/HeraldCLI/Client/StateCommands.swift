import HeraldJSON

extension Command {
    static let state = Command(
        name: "state", summary: "read and set the state of the app",
        action: .group([
            Command(
                name: "get", summary: "show the current state", flags: Flags.client,
                action: .run { call throws(CommandError) in
                    let answer = try APIClient(call).send("GET", ["v1", "app-state"])
                    try StateCommands.print(call, answer, unknown: answer.json["state"]?.isNull == true)
                }),
            Command(
                name: "set", summary: "set the state and publish app_state.changed",
                arguments: [
                    Argument(name: "STATE", help: #"A state such as idle, or an object with its value in JSON."#)
                ],
                flags: [Flag("if-changed", nil, "Publish only if the state is different.")] + Flags.client,
                examples: ["herald state set idle", #"herald state set '{"authentication": "active"}'"#],
                action: .run(StateCommands.set)),
        ]))

    static let auth = Command(
        name: "auth", summary: "read and set who is logged in",
        action: .group([
            Command(
                name: "get", summary: "show the status of a user", arguments: [user], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    let answer = try APIClient(call).send("GET", ["v1", "auth", call.arguments[0]])
                    try Listing(call).print(answer)
                }),
            Command(
                name: "login", summary: "publish that a user has logged in", arguments: [user],
                flags: [
                    Flag("user", "JSON|@FILE", "The user: an object whose id is that of the user.")
                ] + Flags.client,
                examples: [#"herald auth login 42 --user '{"id": 42, "name": "Ada"}'"#],
                action: .run { call throws(CommandError) in try StateCommands.set(call, status: "logged_in") }),
            Command(
                name: "logout", summary: "publish that a user has logged out", arguments: [user],
                flags: Flags.client,
                action: .run { call throws(CommandError) in try StateCommands.set(call, status: "logged_out") }),
        ]))

    private static let user = Argument(name: "USER", help: "The id of the user.")
}

private enum StateCommands {
    static func print(_ call: Invocation, _ answer: APIClient.Answer, unknown: Bool) throws(CommandError) {
        let listing = Listing(call)
        if unknown && !listing.isJSON { return Output.message("No state has been set yet.\n") }
        try listing.print(answer)
    }

    static func set(_ call: Invocation) throws(CommandError) {
        let text = call.arguments[0]
        var json = JSONWriter()
        if text.hasPrefix("{") || text.hasPrefix("\"") || text.hasPrefix("@") {
            let state = try Input.json(text, "The state")
            json.object { $0.member("state", state) }
        } else {
            json.object { $0.member("state", text) }
        }
        let answer = try APIClient(call).send(
            "PUT", ["v1", "app-state"], query: [("if_changed", call.has("if-changed") ? "true" : nil)], body: json.bytes
        )
        try print(call, answer, unknown: false)
    }

    static func set(_ call: Invocation, status: String) throws(CommandError) {
        let user = try call["user"].map { text throws(CommandError) in try Input.json(text, "--user") }
        var json = JSONWriter()
        json.object {
            $0.member("status", status)
            $0.member("user", ifPresent: user)
        }
        let answer = try APIClient(call).send("PUT", ["v1", "auth", call.arguments[0]], body: json.bytes)
        try Listing(call).print(answer)
    }
}
