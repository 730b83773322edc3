/// The URL at which clients reach the server: links in responses begin with it, and cookies are valid below its path. The
/// server itself serves the root: a proxy removes the path from requests.
package struct PublicURL: Equatable, Sendable {
    /// Without a slash at the end: `https://example.com/herald`. Empty if the URL is not known: then links are paths.
    package let base: String
    /// Without a slash at the end: `/herald`. Empty for the root.
    package let path: String
    /// As in a `Host` field, without the port: `example.com` or `[::1]`.
    package let host: String
    /// `nil` if the URL is not known.
    let isHTTPS: Bool?

    /// A URL that is not known.
    package init() { (base, path, host, isHTTPS) = ("", "", "", nil) }

    /// - Parameter text: a URL of http or https in its normal form, without user, query and fragment.
    package init(_ text: String) {
        let base = text.prefix(through: text.lastIndex { $0 != "/" } ?? text.startIndex)
        let parts = base.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let authority = parts.count > 2 ? parts[2] : ""
        let hostEnd = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        self.base = String(base)
        path = parts.count > 3 ? "/" + parts[3] : ""
        host = String(authority[..<(hostEnd ?? authority.firstIndex(of: ":") ?? authority.endIndex)])
        isHTTPS = parts[0] == "https:"
    }
}
