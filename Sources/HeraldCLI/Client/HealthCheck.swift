import HeraldHTTP
import HeraldJSON
import HeraldModel

extension Command {
    static let health = Command(
        name: "health", summary: "say whether a server is healthy: exits 0 when it is, 1 when not",
        details: """
            Requests /healthz from the server of --server, or else from the server on this machine: at the address of the flags
            below, or of HERALD_LISTEN as for `herald serve`. Without these, the server of HERALD_SERVER.
            """,
        flags: [
            Flag(Flags.server.name, "URL", "The server, here or elsewhere."),
            Flags.authorities,
        ] + HealthCheck.ofServe,
        examples: ["herald health", "herald health --server https://herald.example.com"],
        action: .run { call throws(CommandError) in
            do throws(CommandError) {
                try HealthCheck.run(call)
            } catch {
                // A container's health check understands only 1 as failure.
                let isUsage = error.exitCode == ExitCode.usage
                throw CommandError(error.description, exitCode: isUsage ? ExitCode.usage : ExitCode.refused)
            }
            try Output.line("ok")
        })
}

enum HealthCheck {
    /// The settings of `herald serve` that define its address.
    static let ofServe = Settings.flagsOfServe.filter {
        [
            Option.config, "listen", "allowed-hosts", "tls-certificate", "tls-key", "trusted-proxies", "proxy-protocol",
        ].contains($0.name)
    }

    private static let timeoutSeconds = 3

    /// - Throws: an error unless a Herald server responds that it is healthy.
    static func run(_ call: Invocation) throws(CommandError) {
        let environment = Environment.current
        let isHere =
            ofServe.contains { call.has($0.name) } || environment["HERALD_LISTEN"] != nil
            || environment[Option.variable(Option.config)] != nil
        if call.has("server") || !isHere && APIClient.namedServer(call) != nil {
            try ask(try APIClient(call))
        } else {
            try ask(try Settings(call))
        }
    }

    private static func ask(_ client: APIClient) throws(CommandError) {
        let answer = try client.ask("GET", ["healthz"], seconds: timeoutSeconds)
        guard answer.status == 200 else { throw Problem(answer, to: client).error }
        guard saysOK(answer) else { throw client.notHerald("its response is not that of /healthz") }
    }

    /// Other servers may respond to any path with 200.
    private static func saysOK(_ answer: HTTPResponse) -> Bool {
        guard let document = try? JSONDocument(parsing: answer.body) else { return false }
        return document["status"]?.isString("ok") == true
    }

    /// Whether a Herald server responds at the address of these settings.
    static func isServed(_ settings: Settings) -> Bool {
        guard let response = try? request(settings), [200, 503].contains(response.status) else { return false }
        let type = response.header("content-type") ?? ""
        return type.hasPrefix("application/json") || type.hasPrefix("application/problem+json")
    }

    private static func ask(_ settings: Settings) throws(CommandError) {
        let target = target(settings)
        let answer: HTTPResponse
        do throws(HTTPClientError) {
            answer = try request(settings)
        } catch {
            throw CommandError("\(target) does not respond: \(error).", exitCode: ExitCode.refused)
        }
        guard answer.status == 200 else {
            throw CommandError("\(target) is not healthy (status \(answer.status)).", exitCode: ExitCode.refused)
        }
        guard saysOK(answer) else {
            throw CommandError(
                "\(target) is not a Herald server: its response is not that of /healthz.", exitCode: ExitCode.refused)
        }
    }

    private static func target(_ settings: Settings) -> Endpoint {
        let host = settings.listen.host
        return Endpoint(host: ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host, port: settings.listen.port)
    }

    private static func request(_ settings: Settings) throws(HTTPClientError) -> HTTPResponse {
        let target = target(settings)
        // Nothing secret is transmitted, and a certificate that was just replaced or has expired is no reason to
        // restart a running server.
        var configuration = HTTPClient.Configuration(userAgent: "herald-health/\(heraldVersion)")
        configuration.isUnverified = true
        configuration.maxBodyBytes = 65_536
        let scheme = settings.tls == nil ? "http" : "https"
        var request = HTTPRequest("GET", "\(scheme)://\(target)/healthz")
        // A server with allowed hosts refuses requests for its address.
        if let name = settings.allowedHosts?.first {
            let isBare = name.contains(":") && !name.hasPrefix("[")
            request.headers.append(("Host", isBare ? "[\(name)]" : name))
        }
        // A proxy of the environment does not reach this machine.
        request.address = target.host
        request.timeoutMilliseconds = 1000 * timeoutSeconds
        request.sendsProxyHeader = settings.expectsHeader(from: target.host)
        return try HTTPClient(configuration).send(request)
    }
}
