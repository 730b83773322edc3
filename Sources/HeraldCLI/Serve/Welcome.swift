import HeraldAPI
import HeraldHTTP

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
        """

            Dashboard  \(address)/
            Admin key  \(words(isPublic: isPublic))
            Next       curl --json '{"type": "hello"}'\(options) \(address)/v1/events


        """
    }

    private func words(isPublic: Bool) -> String {
        switch key {
        case .none: "not set: \(isPublic ? "every client" : "every user of this machine") has full access"
        case .shown: "shown above, only once"
        case .variable: "the value of \(Option.variable("admin-key"))"
        case .file(let path): "in \(path)"
        case .stored: "one that `herald keys create` has printed: put it into HERALD_KEY"
        }
    }

    private var options: String {
        let value: String
        switch key {
        case .none: return header
        case .shown(let text): value = text
        case .variable: value = "$\(Option.variable("admin-key"))"
        case .file(let path): value = "$(cat '\(path.replacing("'", with: #"'\''"#))')"
        case .stored: value = "$HERALD_KEY"
        }
        return " -H \"Authorization: Bearer \(value)\"" + header
    }

    private var header: String { sendsHeader ? " --haproxy-protocol" : "" }
}
