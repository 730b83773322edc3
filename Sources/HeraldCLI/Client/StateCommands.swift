import HeraldJSON

extension Command {
    static let state = Command(
        name: "state", summary: "read and set the state of the app",
        action: .group([
            Command(
                name: "get", summary: "show the current state", flags: Flags.client,
                action: .run { call throws(CommandError) in
                    let answer = try APIClient(call).send("GET", ["v1", "app-state"])
                    let isUnknown = answer.json["state"]?.isNull == true
                    if isUnknown && !call.has("json") { return Output.message("No state has been set yet.\n") }
                    try Listing(call).print(answer)
                }),
            Command(
                name: "set", summary: "set the state and publish app_state.changed",
                arguments: [
                    Argument(name: "STATE", help: #"A state such as idle, or an object with its value in JSON."#)
                ],
                flags: [Flag("if-changed", nil, "Publish only if the state is different.")] + Flags.client,
                examples: ["herald state set idle", #"herald state set '{"authentication": "active"}'"#],
                action: .run { call throws(CommandError) in
                    let text = call.arguments[0]
                    let isJSON = ["{", "\"", "@"].contains(where: text.hasPrefix)
                    let state = isJSON ? try Input.json(text, "The state") : nil
                    let body = JSONWriter.document {
                        if let state { $0.member("state", state) } else { $0.member("state", text) }
                    }
                    try Listing.show(
                        call, "PUT", ["v1", "app-state"],
                        query: [("if_changed", call.has("if-changed") ? "true" : nil)], body: body
                    )
                }),
        ]))

    static let auth = Command(
        name: "auth", summary: "read and set who is logged in",
        action: .group([
            Command(
                name: "get", summary: "show the status of a user", arguments: [user], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try Listing.show(call, "GET", ["v1", "auth", call.arguments[0]])
                }),
            Command(
                name: "login", summary: "publish that a user has logged in", arguments: [user],
                flags: [
                    Flag("user", "JSON|@FILE", "The user: an object whose id is that of the user.")
                ] + Flags.client,
                examples: [#"herald auth login 42 --user '{"id": 42, "name": "Ada"}'"#],
                action: .run { call throws(CommandError) in try setStatus(call, status: "logged_in") }),
            Command(
                name: "logout", summary: "publish that a user has logged out", arguments: [user], flags: Flags.client,
                action: .run { call throws(CommandError) in try setStatus(call, status: "logged_out") }),
        ]))

    private static let user = Argument(name: "USER", help: "The id of the user.")

    private static func setStatus(_ call: Invocation, status: String) throws(CommandError) {
        let user = try call.json("user")
        let body = JSONWriter.document {
            $0.member("status", status)
            $0.member("user", ifPresent: user)
        }
        try Listing.show(call, "PUT", ["v1", "auth", call.arguments[0]], body: body)
    }
}
