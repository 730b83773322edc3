import HeraldAPI
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// A service whose configuration `herald import` brings to Herald.
protocol ForeignService {
    var server: ForeignServer { get }
    /// The tenants.
    func apps() throws(CommandError) -> [ForeignApp]
    /// The descriptions of event types, by their names.
    /// - Parameter report: gets what has no counterpart in Herald, a line for each.
    func eventTypes(
        _ report: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [(key: String, value: JSONValue)]
    func endpoints(
        of app: ForeignApp, _ report: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [ForeignEndpoint]
}

/// A tenant of another service.
struct ForeignApp {
    let id: String
    /// The id that its owner has chosen.
    let uid: String?
    let title: String
    /// The settings without a counterpart in Herald, a line for each.
    var lost: [String] = []

    /// The owner's id, if an app can have it as its name: programs address the app by it.
    var ownName: String? { uid.flatMap { App.Settings.isName($0) && $0 != App.default.settings.name ? $0 : nil } }

    /// Why the title cannot be that of the portal; `nil` if it can.
    var titleMistake: String? { title.isEmpty ? nil : PortalInput.title(title) }

    /// The app in the form of Herald's API. The title of its portal is what the owner calls it.
    func app(named name: String) throws(CommandError) -> JSONValue {
        try JSONValue.made { object in
            object.member("name", name)
            if !title.isEmpty, title != name, titleMistake == nil {
                object.object("portal") { $0.member("title", title) }
            }
        }
    }

    /// The name of the app: the owner's id, or else what a name may have of it, or of the title. Of two that are equal then, the
    /// second one has a part of its id.
    /// - Parameter taken: the names so far, and those that are ids of owners.
    func name(avoiding taken: inout Set<String>) -> String {
        let ending = "-" + App.Settings.slug(String(id.suffix(8)))
        if let ownName { return ownName }
        var name = App.Settings.slug(uid ?? title)
        if name.isEmpty || name.hasPrefix("app_") || name == "default" { name = "imported" + ending }
        if taken.contains(name) { name = name.prefix(64 - ending.utf8.count) + ending }
        taken.insert(name)
        return name
    }
}

/// An endpoint of another service, which becomes a webhook.
struct ForeignEndpoint {
    let url: String
    /// The settings of the webhook, with what only its registration may have.
    let settings: JSONValue
    let isDisabled: Bool
}

/// The HTTP API of another service. Used by one thread.
struct ForeignServer {
    let name: String
    private let client: APIClient

    /// The server of `--from`, with the token of `--token-file`.
    init(_ name: String, _ call: Invocation) throws(CommandError) {
        guard let url = call["from"], let file = call["token-file"] else {
            throw CommandError("--from URL and --token-file FILE are needed.")
        }
        self.name = name
        client = try APIClient(server: url, key: try KeyFile.token(file), tls: try ClientTLS(call))
    }

    func get(_ path: [String], _ query: [(String, String?)] = []) throws(CommandError) -> JSONValue {
        guard let found = try find(path, query) else {
            throw wrong("/api/v1/\(path.joined(separator: "/")) has the status 404")
        }
        return found
    }

    /// - Returns: `nil` if the server has no such path.
    func find(_ path: [String], _ query: [(String, String?)] = []) throws(CommandError) -> JSONValue? {
        let path = ["api", "v1"] + path
        let response = try client.ask("GET", path, query: query)
        switch response.status {
        case 200:
            guard let document = try? client.document(response.body) else { throw wrong("its response is not JSON") }
            return document.root
        case 401, 403: throw wrong("it refuses the token of --token-file")
        case 404: return nil
        case 429, 500...:
            throw wrong("its status is \(response.status). Repeat the command: it continues", ExitCode.temporary)
        default: throw wrong("/\(path.joined(separator: "/")) has the status \(response.status)")
        }
    }

    func wrong(_ reason: String, _ exitCode: Int32 = ExitCode.unavailable) -> CommandError {
        CommandError("\(name)'s server \(client.server): \(reason).".printable(), exitCode: exitCode)
    }
}

extension Command.Flag {
    static let foreign = [
        Command.Flag("from", "URL", "The server to import from."),
        Command.Flag("token-file", "FILE", "A file with the token of its API in one line."),
    ]
}
