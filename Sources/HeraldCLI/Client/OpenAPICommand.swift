import HeraldAPI
import HeraldHTTP
import HeraldJSON

extension Command {
    static let openapi = Command(
        name: "openapi", summary: "print the description of the HTTP API (OpenAPI 3.0)",
        details: """
            With --server, --profile or HERALD_SERVER, prints the description of that server. Otherwise prints the description of
            this version, without a server.
            """,
        flags: [Flag("yaml", nil, "In YAML, with comments. Default: JSON.")] + Flags.connection,
        examples: ["herald openapi > openapi.json", "herald openapi --yaml --server https://herald.example.com"],
        action: .run { call throws(CommandError) in
            let isYAML = call.has("yaml")
            guard APIClient.namedServer(call) != nil || call.has(Flags.profile.name) else {
                return try Output.write(isYAML ? APIDescription.yaml : APIDescription.json)
            }
            let client = try APIClient(call)
            let answer = try client.ask("GET", [isYAML ? "openapi.yaml" : "openapi.json"])
            guard answer.status == 200 else { throw Problem(answer, to: client).error }
            let isDescription =
                isYAML
                ? answer.body.split(separator: 10).contains { $0.starts(with: Array("openapi:".utf8)) }
                : try client.document(answer.body)["openapi"]?.string != nil
            guard isDescription else { throw client.notHerald("its response is not the description of an API") }
            try Output.write(TerminalText.escaped(answer.body, keepsLines: true))
        })
}
