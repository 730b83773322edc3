/// A host, or all hosts below one: an entry of the lists that allow and refuse hosts. Written `hooks.example` or
/// `*.example`, which does not match `example` itself.
package struct HostRule: Hashable, Sendable, CustomStringConvertible {
    /// In lower case, without the asterisk.
    private let name: String
    private let isSuffix: Bool

    /// `nil` if the text is no host name.
    package init?(_ text: String) {
        isSuffix = text.hasPrefix("*.")
        name = (isSuffix ? String(text.dropFirst()) : text).lowercased()
        // `CallbackURL` alone defines what a valid host is.
        guard let url = try? CallbackURL("http://" + (isSuffix ? "a" : "") + name + "/"), url.address == nil,
            url.host == (isSuffix ? "a" : "") + name
        else { return nil }
    }

    /// - Parameter host: in the form of `CallbackURL`.
    package func matches(_ host: String) -> Bool { isSuffix ? host.hasSuffix(name) : host == name }

    package var description: String { isSuffix ? "*" + name : name }
}
