import HeraldAPI
import HeraldHTTP
import HeraldRuntime

/// The lines below the log of a server that was started on a terminal: where the dashboard and the admin key are, and a
/// command that publishes a first event.
struct Welcome {
    /// Where the key is that the next command needs.
    enum Key: Equatable {
        /// No key exists, and none is required.
        case none
        /// The server has just shown it.
        case shown(String)
        /// A setting.
        case variable
        case file(String)
        /// In the database, as a digest.
        case stored
    }

    /// Without a slash at the end.
    let address: String
    let key: Key
    private let sendsHeader: Bool

    /// - Parameters:
    ///   - port: the one that the server listens on.
    ///   - shown: the admin key, if the server has just shown it.
    ///   - needsKey: whether requests need a key.
    init(_ settings: Settings, port: UInt16, shown: String?, needsKey: Bool) {
        // All addresses are no address to connect to.
        let host = ["0.0.0.0": "localhost", "::": "localhost"][settings.listen.host] ?? settings.listen.host
        let scheme = settings.tls == nil ? "http" : "https"
        let own = "\(scheme)://\(Endpoint(host: settings.allowedHosts?.first ?? host, port: port))"
        address = settings.publicURL?.base ?? own
        // Behind the public URL, the proxy sends it.
        sendsHeader = settings.publicURL == nil && settings.expectsHeader(from: host)
        if let shown {
            key = .shown(shown)
        } else if let file = settings.given["admin-key-file"], settings.given["admin-key"] == nil {
            key = .file(file.text)
        } else if settings.adminKey != nil {
            key = .variable
        } else {
            key = needsKey ? .stored : .none
        }
    }

    /// - Parameter isPublic: whether other machines can reach the server.
    func text(isPublic: Bool) -> String {
        let key = keyTexts(isPublic: isPublic)
        let authorization = key.value.map { " -H \"Authorization: Bearer \($0)\"" } ?? ""
        let options = authorization + (sendsHeader ? " --haproxy-protocol" : "")
        return """

                Dashboard  \(address)/
                Admin key  \(key.words)
                Next       curl --json '{"type": "hello"}'\(options) \(address)/v1/events


            """
    }

    /// Where the key is, and its value in a shell; `nil` if no key exists.
    private func keyTexts(isPublic: Bool) -> (words: String, value: String?) {
        switch key {
        case .none: ("not set: \(isPublic ? "every client" : "every user of this machine") has full access", nil)
        case .shown(let text): ("shown above, only once", text)
        case .variable: ("the value of \(Option.variable("admin-key"))", "$\(Option.variable("admin-key"))")
        case .file(let path): ("in \(path)", "$(cat '\(path.replaced("'", by: #"'\''"#))')")
        case .stored: ("one that `herald keys create` has printed: put it into HERALD_KEY", "$HERALD_KEY")
        }
    }
}
