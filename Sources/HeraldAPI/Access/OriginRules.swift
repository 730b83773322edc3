package import HeraldHTTP

/// Where a request comes from. Browsers state it in `Sec-Fetch-Site`, or, if they don't trust the server's address
/// (plain `http` that is not local), in `Origin`; pages can forge neither. Other programs send neither.
enum RequestSource: Equatable {
    /// A page of this server: the dashboard.
    case ownPage
    /// A page of any other origin, including another port of this machine.
    case otherPage
    /// A navigation by the user: a typed address or a bookmark.
    case person
    /// Not a browser.
    case program

    init(_ head: RequestHead) {
        if let site = head.bytes(of: "Sec-Fetch-Site") {
            self =
                site.elementsEqual("same-origin".utf8)
                ? .ownPage : site.elementsEqual("none".utf8) ? .person : .otherPage
        } else if let origin = head.value(of: "Origin") {
            self = Self.isOwn(origin, host: head.host ?? "") ? .ownPage : .otherPage
        } else {
            self = .program
        }
    }

    /// Whether `Origin` and `Host` name the same server. The scheme is unknown here: a proxy in front may use https.
    private static func isOwn(_ origin: String, host: String) -> Bool {
        let origin = origin.lowercased()
        let host = host.lowercased()
        // Browsers omit the standard port; a proxy may add it to `Host`.
        return [("http://", ":80"), ("https://", ":443")].contains { scheme, port in
            origin == scheme + host || (host.hasSuffix(port) && origin == scheme + host.dropLast(port.count))
        }
    }
}

/// Refuses changes by pages of other origins, except those that the operator allows. Such pages may also read the
/// responses (CORS).
package struct OriginRules: Sendable {
    /// As browsers send them: `https://shop.example`.
    private let named: Set<String>

    /// - Parameter named: each satisfies `isOrigin`.
    package init(_ named: [String]) {
        self.named = Set(named)
    }

    /// Whether the text is an origin as browsers write it: a scheme and a host in lower case, and a port other than the
    /// standard one.
    package static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].utf8.first, isLetter(first),
            parts[0].utf8.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }),
            parts[1].hasPrefix("//")
        else { return false }
        var host = parts[1].dropFirst(2)
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            let port = host[host.index(after: colon)...]
            guard let number = UInt16(port), String(number) == port, number > 0,
                !(parts[0] == "http" && number == 80), !(parts[0] == "https" && number == 443)
            else { return false }
            host = host[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.dropFirst().dropLast().utf8.allSatisfy { isDigit($0) || "abcdef:.".utf8.contains($0) }
        }
        return !host.isEmpty
            && host.utf8.allSatisfy { isLetter($0) || isDigit($0) || "-._".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Refuses a change by a page of another site, with or without a key. Reading is left to the browser, which does
    /// not give such a page the response.
    /// - Throws: 403.
    func check(_ head: RequestHead) throws(Problem) {
        switch head.method {
        case .get, .head, .options, .trace: return
        case .post, .put, .patch, .delete: break
        }
        if RequestSource(head) == .otherPage, namedOrigin(of: head) == nil { throw .foreignOrigin }
    }

    func fields(for head: RequestHead) -> [Response.Field] { fields(for: namedOrigin(of: head)) }

    /// The headers that allow a page to read the response.
    /// - Parameter origin: the `Origin` of the request.
    package func fields(for origin: String?) -> [Response.Field] {
        if named.isEmpty { return [] }
        // A cache must not give the response to a page of another origin.
        let vary = Response.Field("Vary", "Origin")
        guard let origin, named.contains(origin) else { return [vary] }
        // Without `Allow-Credentials`: the session's cookie is for the dashboard only. These pages send keys.
        return [
            vary, .init("Access-Control-Allow-Origin", origin), .init("Access-Control-Expose-Headers", "*"),
        ]
    }

    /// The response to a preflight request.
    /// - Parameter allowed: the methods of the path.
    func preflightFields(for head: RequestHead, allowed: String) -> [Response.Field] {
        guard head.has("Access-Control-Request-Method"), namedOrigin(of: head) != nil else { return fields(for: head) }
        return fields(for: head) + [
            .init("Access-Control-Allow-Methods", allowed),
            // The asterisk does not include Authorization.
            .init("Access-Control-Allow-Headers", "Authorization, *"),
            .init("Access-Control-Max-Age", "600"),
        ]
    }

    private func namedOrigin(of head: RequestHead) -> String? {
        if named.isEmpty { return nil }
        return head.value(of: "Origin").flatMap { named.contains($0) ? $0 : nil }
    }
}
