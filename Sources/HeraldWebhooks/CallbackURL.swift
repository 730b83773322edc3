import CHeraldCurl
import HeraldJSON
package import HeraldRuntime

/// A URL that callbacks can be sent to, in the form in which it is stored and compared: as libcurl prints it, with the
/// host in lower case and without its trailing dot, and with the characters of path and query that the URL standard of
/// WHATWG encodes in their encoded form.
///
/// Only libcurl parses it, because libcurl connects to it, and no two parsers read all URLs the same way.
/// `AddressGuard` decides whether its address may be reached. Any thread.
package struct CallbackURL: Equatable, Sendable {
    package enum Scheme: String, Sendable { case http, https }

    package static let maxLength = 2048

    /// `HTTP://EXAMPLE.com:80/a` becomes `http://example.com/a`.
    package let text: String
    package let scheme: Scheme
    /// Without the brackets of an IPv6 address.
    package let host: String
    package let port: UInt16
    /// Set if the host is an address and not a name.
    package let address: IPAddress?

    package init(_ text: String) throws(CallbackURLError) {
        try Self.checkText(text)
        let parsed = try Self.parse(Self.encoded(text))
        try Self.checkHost(parsed.host)
        // The changed host may parse differently (`127.0.0.1.` without its dot is an address), so the printed text is
        // parsed again.
        let normal = try Self.parse(parsed.text)
        guard normal.text == parsed.text else { throw .malformed("it reads differently when it is written again") }
        try Self.checkHost(normal.host)
        guard normal.text.utf8.count <= Self.maxLength else { throw .tooLong }
        guard let scheme = Scheme(rawValue: normal.scheme) else { throw .scheme }
        guard let port = Int(decimal: normal.port).flatMap(UInt16.init(exactly:)), port > 0 else { throw .port }
        self.text = normal.text
        self.scheme = scheme
        self.host = normal.host
        self.port = port
        self.address = IPAddress(normal.host)
    }

    /// Checks the characters of the URL. The host is checked as written, because libcurl decodes it.
    private static func checkText(_ text: String) throws(CallbackURLError) {
        guard text.utf8.count <= maxLength else { throw .tooLong }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "#"): throw .fragment
            case 0x21...0x7E where byte != UInt8(ascii: "\\"): continue
            default: throw .character
            }
        }
        let lower = text.lowercased()
        guard let scheme = [Scheme.http, .https].first(where: { lower.hasPrefix($0.rawValue + "://") }) else {
            throw .scheme
        }
        let authority = text.utf8.dropFirst(scheme.rawValue.utf8.count + 3)
            .prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard !authority.contains(UInt8(ascii: "@")) else { throw .userInformation }
        guard !authority.isEmpty, !authority.contains(UInt8(ascii: "%")) else { throw .host }
    }

    /// Encodes the characters of the path percent-encode set and of the special-query percent-encode set that `checkText`
    /// accepts.
    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var slashes = 0
        var isQuery = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "/") { slashes += 1 }
            if byte == UInt8(ascii: "?") { isQuery = true }
            let mustEncode =
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"): slashes > 2 || isQuery
                case UInt8(ascii: "'"): isQuery
                case UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "}"):
                    slashes > 2 && !isQuery
                default: false
                }
            if mustEncode {
                PercentEscapes.append(byte, to: &bytes)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func checkHost(_ host: String) throws(CallbackURLError) {
        if IPAddress(host) != nil { return }
        guard (1...253).contains(host.utf8.count) else { throw .host }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.count), label.contains(where: { $0 != UInt8(ascii: "_") }) else {
                throw .host
            }
            for byte in label {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    continue
                default: throw .host
                }
            }
        }
        // A name whose last label is a number is a malformed address, which resolvers interpret in different ways.
        if let last = labels.last, let first = last.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            last.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) || last.starts(with: "0x".utf8)
        {
            throw .host
        }
    }
}

extension CallbackURL {
    /// Parses `text` with libcurl, and changes the host to lower case without one trailing dot.
    private static func parse(
        _ text: String
    ) throws(CallbackURLError) -> (text: String, scheme: String, host: String, port: String) {
        guard let url = curl_url() else { throw .malformed("no memory") }
        defer { curl_url_cleanup(url) }
        let code = herald_url_parse(url, text)
        if code == HERALD_URL_BAD_HOST { throw .host }
        if code == HERALD_URL_BAD_PORT { throw .port }
        guard code == 0 else { throw .malformed(String(cString: herald_url_message(code))) }
        guard let scheme = take(herald_url_scheme(url)), var host = take(herald_url_host(url))?.lowercased(),
            let port = take(herald_url_port(url))
        else { throw .host }
        if host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty, herald_url_set_host(url, host) == 0 else { throw .host }
        if herald_url_has_fragment(url) != 0 { throw .fragment }
        guard let printed = take(herald_url_text(url)) else { throw .malformed("libcurl can't print it") }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        return (printed, scheme, host, port)
    }

    /// Copies the text and frees it.
    private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
        guard let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

/// An error in a URL, for the user who registers it.
package enum CallbackURLError: Error, Equatable, Sendable, CustomStringConvertible {
    case tooLong
    case character
    case scheme
    case userInformation
    case fragment
    case host
    case port
    case malformed(String)

    package var description: String {
        switch self {
        case .tooLong: "must be at most \(CallbackURL.maxLength) characters long"
        case .character:
            "must consist of visible ASCII characters without backslash: encode others in the path and the query with %, and write international host names in their xn-- form"
        case .scheme: "must begin with https:// or http://"
        case .userInformation: "must not contain a user name or password: use a header instead"
        case .fragment: "must not contain a fragment (#), which is never sent"
        case .host:
            "must name a host: letters, digits, hyphens and single dots, an IPv4 address or an IPv6 address in brackets"
        case .port: "must have a port from 1 to 65535, or none"
        case .malformed(let reason): "is not a valid URL: \(reason)"
        }
    }
}
