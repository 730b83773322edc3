import HeraldServer

extension Command {
    static let openapi = Command(
        name: "openapi", summary: "print the description of the HTTP API (OpenAPI 3.0)",
        flags: [Flag(name: "yaml", help: "In YAML, with comments. Default: JSON.")],
        examples: ["herald openapi > openapi.json"],
        action: .run { call throws(CommandError) in
            try Output.write(call.has("yaml") ? APIDescription.yaml : APIDescription.json)
        })
}
