import HeraldJSON

extension Command {
    static let importing = Command(
        name: "import", summary: "bring the configuration of another service to a server",
        action: .group([
            Command(
                name: "svix", summary: "import applications, endpoints and event types of a Svix server",
                details: """
                    Creates an app for each application, a webhook for each endpoint with its secret and headers, and the event types
                    in each app. Receivers get the requests that Svix sends: the payload as the body, signed with svix-id,
                    svix-timestamp and svix-signature.
                    \(rules)
                    """,
                flags: Flag.foreign + [Flags.dryRun] + client,
                examples: ["herald import svix --from https://svix.example.com --token-file token --dry-run"],
                action: .run { call throws(CommandError) in
                    var work = try ConfigurationImport(call)
                    try work.run(try SvixServer(call))
                }),
            Command(
                name: "convoy", summary: "import a project of a Convoy server",
                details: """
                    Creates an app for the project, a webhook for each subscription with the URL, the secret and the limits of its
                    endpoint, and the event types. Receivers get the payload as the body, signed as the project signs.
                    \(rules)
                    """,
                flags: Flag.foreign + [
                    Flag("project", "ID", "The project to import."), Flags.dryRun,
                ] + client,
                examples: [
                    "herald import convoy --from https://convoy.example.com --token-file token --project 01HMQ0VS2C --dry-run"
                ],
                action: .run { call throws(CommandError) in
                    var work = try ConfigurationImport(call)
                    try work.run(try ConvoyServer(call))
                }),
        ]))

    private static let rules = """
        Importing again changes settings that differ. Secrets and headers stay those of the first import. Nothing is removed.
        Settings without a counterpart are listed on standard error. Use an admin key of the app `default`.
        """
    /// The app is that of the tenant.
    private static let client = Flags.client.filter { $0.name != "app" }
}

/// Brings what another service has to a server, app by app: as `herald apply` does it with a file, and with secrets.
struct ConfigurationImport {
    private let call: Invocation
    /// Acts on the app `default`.
    private let client: APIClient
    private var unchanged = 0
    private var refused = 0
    /// The kinds that a dry run only compares.
    private var unchecked: [String] = []

    init(_ call: Invocation) throws(CommandError) {
        self.call = call
        client = try APIClient(call)
    }

    /// Continues after what the server refuses: the rest does not depend on it.
    /// - Throws: if something was refused, at the end; at once if a server cannot be reached, or is busy.
    mutating func run(_ source: some ForeignService) throws(CommandError) {
        let types = try source.eventTypes { Output.message("\($0)\n") }
        let applications = try source.apps()
        var names = Set(applications.compactMap(\.ownName))
        let known = Set(try ConfigurationKind.apps.current(client).map { $0.text("name") })
        for application in applications {
            let name = application.name(avoiding: &names)
            let title = application.title.isEmpty ? application.id : application.title
            let label = "app \(name) (\(source.server.name)'s \(title))"
            for line in application.lost { Output.message("\(label): \(line)\n") }
            if let mistake = application.titleMistake { Output.message("\(label): the title \(mistake)\n") }
            let app = try application.app(named: name)
            let endpoints = try source.endpoints(of: application) { Output.message("\(label): \($0)\n") }
            guard try apply(.apps, [(name, app)], client, name, label) else { continue }
            // A dry run makes none.
            let acting = call.has("dry-run") && !known.contains(name) ? nil : try APIClient(call, app: name)
            try apply(.eventTypes, types, acting, name, label)
            try apply(.delegates, endpoints.map { ($0.url, $0.settings) }, acting, name, label)
            if let acting, !call.has("dry-run") { try pause(endpoints, acting, name, label) }
        }
        ConfigurationKind.reportUnchecked(unchecked)
        if !call.has("json") { try Output.line("Unchanged: \(unchanged).") }
        if refused > 0 {
            throw CommandError("\(refused) could not be imported.", exitCode: ExitCode.refused)
        }
    }

    /// - Parameter client: `nil` for an app that a dry run does not make. Its webhooks are checked in the app `default`, whose
    ///   rules are equal.
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
                if call.has("dry-run") {
                    let isChecked = try step.preview(client ?? self.client)
                    if !isChecked, !unchecked.contains(kind.word) { unchecked.append(kind.word) }
                } else if let client {
                    _ = try step.run(client)
                }
            } catch {
                if [ExitCode.unavailable, ExitCode.temporary].contains(error.exitCode) { throw error }
                refused += 1
                Output.message("\(label): \(error.description)\n")
                continue
            }
            try step.print(call, app: kind.name == ConfigurationKind.apps.name ? nil : name)
        }
        return refused == before
    }

    /// Pauses the webhooks of endpoints that are disabled. An endpoint may be disabled because its webhook has taken over: one that
    /// was changed after its creation, such as by resuming it, stays active.
    private func pause(
        _ endpoints: [ForeignEndpoint], _ client: APIClient, _ name: String, _ label: String
    ) throws(CommandError) {
        guard endpoints.contains(where: \.isDisabled) else { return }
        let steps = ConfigurationStep.steps(
            .delegates, to: endpoints.map { ($0.url, $0.settings) },
            from: try ConfigurationKind.delegates.current(client))
        for (endpoint, step) in zip(endpoints, steps) where endpoint.isDisabled {
            guard let delegate = step.current, delegate.text("status") == "active" else { continue }
            guard delegate.text("created_at") == delegate.text("updated_at") else {
                let why = "is disabled; the delegate was changed after its creation, and stays active"
                Output.message("\(label): endpoint \(endpoint.url) \(why)\n")
                continue
            }
            _ = try client.send("POST", ["v1", "delegates", delegate.text("id"), "pause"])
            if !call.has("json") {
                try Output.line("Paused the delegate \(endpoint.url) of the app \(name).".printable())
            }
        }
    }
}
