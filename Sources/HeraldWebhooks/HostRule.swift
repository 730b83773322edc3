/// A host, or all hosts below one: an entry of the lists that open and close hosts. Written `hooks.example` or
/// `*.example`, which does not mean `example` itself.
package struct HostRule: Hashable, Sendable, CustomStringConvertible {
    /// In lower case, without the star.
    private let name: String
    private let isSuffix: Bool

    /// `nil` when it is no name of a host.
    package init?(_ text: String) {
        isSuffix = text.hasPrefix("*.")
        name = (isSuffix ? String(text.dropFirst()) : text).lowercased()
        // The one place that knows what a host is.
        guard let url = try? CallbackURL("http://" + (isSuffix ? "a" : "") + name + "/"), url.address == nil,
            url.host == (isSuffix ? "a" : "") + name
        else { return nil }
    }

    /// - Parameter host: as `CallbackURL` has it.
    package func matches(_ host: String) -> Bool { isSuffix ? host.hasSuffix(name) : host == name }

    package var description: String { isSuffix ? "*" + name : name }
}
