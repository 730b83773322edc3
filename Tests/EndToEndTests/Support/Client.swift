import HeraldJSON
import HeraldTestSupport

/// The command line, asking one server.
struct Client: Sendable {
    let herald: HeraldProcess

    struct Result: Sendable {
        let end: ChildProcess.End
        /// The text of both outputs.
        let text: String
        var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
        /// The first line, when it is JSON.
        func document() throws -> JSONValue {
            guard let first = json.first else { throw HeraldFailure(what: "no JSON: \(text)") }
            return first
        }
        /// One document from each line.
        var json: [JSONValue] { lines.compactMap { try? JSONDocument(parsing: $0).root } }
    }

    init(_ herald: HeraldProcess) { self.herald = herald }

    func run(_ arguments: String..., input: String = "") async throws -> Result {
        try await Client.run(arguments, server: herald.url, input: input)
    }

    static func run(_ arguments: [String], server: String? = nil, input: String = "") async throws -> Result {
        // Without the profiles of the user who runs the tests.
        var environment = ["XDG_CONFIG_HOME": "/nonexistent"]
        environment["HERALD_SERVER"] = server
        let result = try await ChildProcess.run(
            try Binary.path(), arguments, environment: environment,
            input: Array(input.utf8))
        return Result(end: result.end, text: result.text)
    }
}
