import HeraldJSON

extension Command {
    static let importing = Command(
        name: "import", summary: "bring the configuration of another service to a server",
        action: .group([
            Command(
                name: "svix", summary: "import applications, endpoints and event types of a Svix server",
                details: """
                    Makes an app of each application, a webhook of each endpoint with its secret and headers, and describes the event types
                    in each of the apps. Receivers see the requests that Svix sends: the payload as the body, signed with svix-id,
                    svix-timestamp and svix-signature. Importing again changes what differs. Nothing is removed. What has no counterpart
                    is listed on the standard error. The key of Herald must be an admin key of the app `default`.
                    """,
                flags: [
                    Flag(name: "from", placeholder: "URL", help: "The Svix server, such as https://svix.example.com."),
                    Flag(
                        name: "token-file", placeholder: "FILE",
                        help: "A file with the token of Svix's API in one line."),
                    Flags.dryRun,
                ] + Flags.client.filter { $0.name != "app" },
                examples: ["herald import svix --from https://svix.example.com --token-file token --dry-run"],
                action: .run { call throws(CommandError) in
                    var work = try ConfigurationImport(call)
                    try work.run(try SvixServer(call))
                })
        ]))
}

/// Brings what another service has to a server, app by app: as `herald apply` does it with a file, and with secrets.
struct ConfigurationImport {
    private let call: Invocation
    /// Acts on the app `default`.
    private let client: APIClient
    private var unchanged = 0
    private var refused = 0

    init(_ call: Invocation) throws(CommandError) {
        self.call = call
        client = try APIClient(call)
    }

    /// Continues after what the server refuses: the rest does not depend on it.
    /// - Throws: if something was refused, at the end; at once if a server cannot be reached.
    mutating func run(_ source: SvixServer) throws(CommandError) {
        var names: Set<String> = []
        let types = try source.eventTypes()
        let known = Set(try ConfigurationKind.apps.current(client).map { $0.text("name") })
        for application in try source.apps() {
            let name = application.name(avoiding: &names)
            let label = "app \(name) (\(application.label))"
            let app = try JSONValue.made { $0.member("name", name) }
            let endpoints = try source.endpoints(of: application) { line in
                Output.message("\(label): \(line)\n")
            }
            guard try apply(.apps, [(name, app)], client, name, label) else { continue }
            // A dry run makes none.
            let acting = call.has("dry-run") && !known.contains(name) ? nil : try APIClient(call, app: name)
            try apply(.eventTypes, types, acting, name, label)
            try apply(.delegates, endpoints.map { ($0.url, $0.settings) }, acting, name, label)
            if let acting, !call.has("dry-run") { try pause(endpoints, acting, name) }
        }
        if !call.has("json") { try Output.line("Unchanged: \(unchanged).") }
        if refused > 0 {
            throw CommandError(description: "\(refused) could not be imported.", exitCode: ExitCode.refused)
        }
    }

    /// - Parameter client: `nil` for an app that is not there.
    /// - Returns: whether nothing was refused.
    @discardableResult
    private mutating func apply(
        _ kind: ConfigurationKind, _ desired: [(key: String, value: JSONValue)], _ client: APIClient?, _ name: String,
        _ label: String
    ) throws(CommandError) -> Bool {
        guard !desired.isEmpty else { return true }
        let before = refused
        var current: [JSONValue] = []
        if let client { current = try kind.current(client) }
        for step in ConfigurationStep.steps(kind, to: desired, from: current) {
            guard step.isNeeded else {
                unchanged += 1
                continue
            }
            do throws(CommandError) {
                try step.check()
                if let client, !call.has("dry-run") { _ = try step.run(client) }
            } catch {
                if error.exitCode == ExitCode.unavailable { throw error }
                refused += 1
                Output.message("\(label): \(error.description)\n")
                continue
            }
            try step.print(call, app: kind.name == ConfigurationKind.apps.name ? nil : name)
        }
        return refused == before
    }

    /// Pauses the webhooks of endpoints that are disabled.
    private func pause(_ endpoints: [SvixServer.Endpoint], _ client: APIClient, _ name: String) throws(CommandError) {
        guard endpoints.contains(where: \.isDisabled) else { return }
        let steps = ConfigurationStep.steps(
            .delegates, to: endpoints.map { ($0.url, $0.settings) },
            from: try ConfigurationKind.delegates.current(client))
        for (endpoint, step) in zip(endpoints, steps) where endpoint.isDisabled {
            guard let delegate = step.current, delegate.text("status") == "active" else { continue }
            _ = try client.send("POST", ["v1", "delegates", delegate.text("id"), "pause"])
            if !call.has("json") {
                try Output.line("Paused the delegate \(endpoint.url) of the app \(name).".printable())
            }
        }
    }
}
