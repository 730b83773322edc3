import Glibc
import HeraldHTTP
import HeraldModel
import HeraldRuntime
import HeraldWebhooks

// Names, and the URL of a delegate as the sender of callbacks would use it.
extension Doctor {
    private static let lookupMilliseconds = 5_000
    private static let requestSeconds = 10
    private static let maxAddresses = 4

    /// A name that never exists: that the name servers say so shows that they respond (RFC 6761).
    mutating func checkNameServers() {
        let (answer, milliseconds) = Self.lookUp("herald-doctor.invalid")
        switch answer {
        case .unavailable(let reason), .lacking(let reason):
            warn("names", "the name servers do not respond: \(reason)", Self.adviceOnNameServers)
        case .addresses, .failed: ok("names", "the name servers respond after \(milliseconds) ms")
        }
    }

    private static var adviceOnNameServers: String {
        "name servers that this machine reaches belong into /etc/resolv.conf; until then, callbacks only reach IP addresses "
            + "and names in /etc/hosts"
    }

    private static func lookUp(_ host: String) -> (answer: Resolver.Answer, milliseconds: Int64) {
        let clock = Clock.system
        let begin = clock.monotonic()
        func passed() -> Int64 { (clock.monotonic() - begin) / 1_000_000 }
        guard let wakeup = try? Wakeup() else { return (.unavailable("no descriptor is free"), 0) }
        let lookups = DNSLookups()
        lookups.begin(host)
        while passed() < lookupMilliseconds {
            let left = Int32(clamping: Int64(lookupMilliseconds) - passed())
            if let first = lookups.wait(for: wakeup, milliseconds: left).first { return (first.answer, passed()) }
        }
        return (.unavailable("no response within \(lookupMilliseconds / 1000) s"), passed())
    }

    mutating func checkDelegate(_ text: String) {
        let url: CallbackURL
        do throws(CallbackURLError) {
            url = try CallbackURL(text)
        } catch {
            return fail("url", "it \(error)", "write it as https://host/path, without a user or a fragment")
        }
        let isHere = LoopbackRule(settings).isPossible && keys?.isEmpty ?? true
        let guardian = Server.addressGuard(settings, port: settings.listen.port) { isHere }
        if url.address == nil, case .refused(let rule) = guardian.authorize(url) {
            return fail("url", "callbacks must not reach \(url.host): \(rule)", Self.advice(on: rule, url))
        }
        ok("url", url.text)
        guard let addresses = addresses(of: url), mayCall(url, at: addresses, guardian) else { return }
        let proxies = ProxyRules(settings.callbackProxy, overrides: settings.callbackProxyOverrides)
        // A proxy may reach what this machine does not.
        guard proxies.proxy(of: "", host: url.host) == nil else {
            return warn(
                "connection", "callbacks to \(url.host) connect through a proxy, which this command does not use",
                "start the server, and call the delegate: herald delegates test ID")
        }
        request(url, addresses)
    }

    /// As for the sender: if one address is refused, the host is not called.
    mutating func mayCall(_ url: CallbackURL, at addresses: [IPAddress], _ guardian: AddressGuard) -> Bool {
        var isAllowed = true
        for address in addresses {
            let host = url.address == nil ? url.host : nil
            if case .refused(let rule) = guardian.authorize(address: address, port: url.port, host: host) {
                fail("guard", "callbacks must not reach \(address): \(rule)", Self.advice(on: rule, url))
                isAllowed = false
            }
        }
        if isAllowed {
            ok("guard", "callbacks may reach \(addresses.map(\.description).joined(separator: ", "))")
        }
        return isAllowed
    }

    /// `nil` if there are none.
    private mutating func addresses(of url: CallbackURL) -> [IPAddress]? {
        if let address = url.address { return [address] }
        let (answer, milliseconds) = Self.lookUp(url.host)
        switch answer {
        case .addresses(let addresses):
            let list = addresses.map(\.description).joined(separator: ", ")
            ok("names", "\(url.host) is \(list), after \(milliseconds) ms")
            return addresses
        case .failed(let reason):
            fail(
                "names", "\(url.host) has no address: \(reason)",
                "correct the name in the URL, or add its address to the DNS or to /etc/hosts")
        case .unavailable(let reason), .lacking(let reason):
            fail("names", "\(url.host) cannot be resolved: \(reason)", Self.adviceOnNameServers)
        }
        return nil
    }

    /// The end of a rule that the operator can change names the setting.
    private static func advice(on rule: String, _ url: CallbackURL) -> String {
        if let range = rule.place(of: "--allow-networks ") {
            let host = url.address == nil ? ", or --allow-hosts \(url.host)" : ""
            return "if it is meant: set \(rule[range.lowerBound...])\(host)"
        }
        if rule.hasPrefix("denied host") { return "remove the rule from --deny-hosts" }
        if rule.hasPrefix("denied network") { return "remove the rule from --deny-networks" }
        return "name the address of a receiver"
    }

    private mutating func request(_ url: CallbackURL, _ addresses: [IPAddress]) {
        var configuration = HTTPClient.Configuration(
            userAgent: "herald-doctor/\(heraldVersion)", certificateAuthorities: settings.certificateAuthorities)
        configuration.maxBodyBytes = 1 << 20
        var failure: Finding?
        for address in addresses.prefix(Self.maxAddresses) {
            var request = HTTPRequest("OPTIONS", url.text)
            request.address = address.description
            request.timeoutMilliseconds = 1000 * Self.requestSeconds
            let clock = Clock.system
            let (begin, sent) = (clock.monotonic(), clock.wall())
            do throws(HTTPClientError) {
                let response = try HTTPClient(configuration).send(request)
                ok("connection", "\(address) accepts connections to port \(url.port)")
                if url.scheme == .https { ok("certificate", "is valid for \(url.host)") }
                let milliseconds = (clock.monotonic() - begin) / 1_000_000
                add(Self.finding(response, milliseconds))
                compareClock(response, sent: sent, received: clock.wall(), url.host)
                return
            } catch {
                failure = Self.finding(error, address, url)
            }
        }
        if let failure { add(failure) }
    }

    private static func finding(_ error: HTTPClientError, _ address: IPAddress, _ url: CallbackURL) -> Finding {
        switch error {
        case .connection:
            .failure(
                "connection", "\(address) accepts no connection to port \(url.port): \(error)",
                "start the receiver, correct the port in the URL, or open the firewalls between")
        case .tls:
            .failure(
                "certificate", "the TLS handshake with \(url.host) failed: \(error)",
                "let the receiver use a certificate for \(url.host) that is valid now, with its intermediate ones; of an "
                    + "authority of your own, name the file in --certificate-authorities, or in --tls-ca of the "
                    + "delegate")
        case .library, .url, .tooLarge, .silent, .failed:
            .failure(
                "response", "\(address) did not respond as an HTTP server: \(error)",
                "check what listens on port \(url.port) of \(url.host), and its log")
        }
    }

    private static func finding(_ response: HTTPResponse, _ milliseconds: Int64) -> Finding {
        let text = "\(response.status) to OPTIONS, after \(milliseconds) ms"
        return switch response.status {
        case 300..<400:
            .warning(
                "response", text + ": callbacks follow no redirects",
                "register the URL that it redirects to: \(response.header("location") ?? "its Location is missing")")
        case 500...: .warning("response", text, "check the log of the receiver")
        default: .ok("response", text)
        }
    }

    private mutating func compareClock(_ response: HTTPResponse, sent: Int64, received: Int64, _ host: String) {
        guard settings.store == nil, let text = response.header("date"), let date = RetryAfter.date(text) else {
            return
        }
        // The header has whole seconds.
        let (earliest, latest) = (date * 1000, date * 1000 + 999)
        let offset = earliest > received ? earliest - received : latest < sent ? latest - sent : 0
        addClock(offset: offset, comparedWith: "the clock of \(host)")
    }
}
