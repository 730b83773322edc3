import HeraldJSON

/// A link that opens the dashboard of an app.
struct PortalLink {
    private static let flag = "expires-in"
    private let call: Invocation
    private let seconds: Int?

    init(_ call: Invocation) throws(CommandError) {
        self.call = call
        seconds = try call.number(Self.flag, 60...604_800)
    }

    /// - Parameter link: its name in the help.
    static func lifetime(_ link: String) -> Command.Flag {
        Command.Flag(flag, "SECONDS", "How long \(link) is valid, 60 to 604800. Default: 3600.")
    }

    func print(_ client: APIClient, app: String) throws(CommandError) {
        let body = JSONWriter.document {
            $0.member("app", app)
            $0.member("expires_in", ifPresent: seconds)
        }
        let answer = try client.send("POST", ["v1", "portal-links"], body: body)
        let url = answer.json.text("url")
        // A server without --public-url returns a path.
        try Listing(call).print(answer, url.hasPrefix("/") ? client.server + url : url)
    }
}
