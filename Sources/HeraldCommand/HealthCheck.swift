import HTTPClient

/// Asks a server on this machine whether it lives, for a container's health check.
enum HealthCheck {
    /// `nil` when it answers 200; else what is wrong, in words.
    static func problem(_ settings: Settings) -> String? {
        let listen = settings.listen
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][listen.host] ?? listen.host
        let target = Endpoint(host: host, port: listen.port)
        // Nothing secret is asked or told, and a certificate that was just replaced, or ran out, is no reason to end a
        // server that lives.
        var configuration = HTTPClient.Configuration(userAgent: "herald-health/\(HeraldCommand.version)")
        configuration.isUnverified = true
        configuration.maxBodyBytes = 65_536
        let scheme = settings.tls == nil ? "http" : "https"
        var request = HTTPRequest("GET", "\(scheme)://\(target)/healthz")
        // A server that answers for certain names only doesn't answer for its address.
        if let name = settings.allowedHosts?.first { request.headers.append(("Host", name)) }
        request.timeoutSeconds = 3
        do throws(HTTPClientError) {
            let answer = try HTTPClient(configuration).send(request)
            return answer.status == 200 ? nil : "\(target) answered: \(answer.status)"
        } catch {
            return "Nothing answers at \(target): \(error)."
        }
    }
}
