internal import JSON
internal import Synchronization

/// Answers requests as their own URLs say (`/status/503`, `/hook?flaky=3`), or a script in JSON that names paths:
///
///     {
///       "/orders": [{"status": 503, "retry-after": 2, "times": 3}, {"status": 200, "delay": 0.5}],
///       "*": {"status": 404}
///     }
///
/// Each path counts its own requests. Any thread.
public final class ScriptedReplies: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
    }

    private let paths: [String: ReplyScript]
    private let state = Mutex(State())

    /// Counts are kept for so many paths; requests to others always find the first step.
    private static let maxCounts = 100_000

    /// - Parameters:
    ///   - json: a script. Paths it doesn't name go by their URLs.
    ///   - query: directives for requests of which nothing else says anything, as in a query: `status=503&delay=2`. Without
    ///     it that is the script's `*`, and 200 if there is none.
    public init(json: [UInt8]? = nil, otherwise query: String? = nil) throws(ScriptError) {
        var paths = try json.map { json throws(ScriptError) in try Self.parse(json) } ?? [:]
        if let query {
            guard let script = try ReplyScript(target: "?" + query) else {
                throw ScriptError(
                    description: "\"\(query)\" holds no directive. `herald receiver --help` lists all.")
            }
            paths["*"] = script
        }
        self.paths = paths
    }

    public func reply(to request: ReceivedRequest) -> ReceiverReply {
        let script: ReplyScript
        do throws(ScriptError) {
            script = try self.script(for: request.path)
        } catch {
            return .status(400, headers: [("content-type", "text/plain")], body: "\(error)\n")
        }
        if request.method == "OPTIONS" { return Self.handshake(request, script) }
        return script.step(for: number(request, script)).reply(to: request)
    }

    private func script(for target: String) throws(ScriptError) -> ReplyScript {
        let path = target.prefix { $0 != "?" }
        if let script = paths[String(path)] { return script }
        return try ReplyScript(target: target) ?? paths["*"] ?? ReplyScript()
    }

    /// 1 for the first request.
    private func number(_ request: ReceivedRequest, _ script: ReplyScript) -> Int {
        if script.steps.count == 1 { return 1 }
        let key = request.path + (script.countsPer.map { " " + (request.header($0) ?? "") } ?? "")
        return state.withLock { state in
            let number = (state.counts[key] ?? 0) + 1
            if number > 1 || state.counts.count < Self.maxCounts { state.counts[key] = number }
            return number
        }
    }

    /// The answer to the validation request of the CloudEvents webhook specification.
    private static func handshake(_ request: ReceivedRequest, _ script: ReplyScript) -> ReceiverReply {
        var headers = [("allow", "POST, OPTIONS")]
        if let origin = script.allowedOrigin ?? request.header("webhook-request-origin"), origin != "none" {
            headers.append(("webhook-allowed-origin", origin))
            headers.append(
                ("webhook-allowed-rate", script.allowedRate ?? request.header("webhook-request-rate") ?? "*"))
        }
        return .status(200, headers: headers)
    }

    private static func parse(_ json: [UInt8]) throws(ScriptError) -> [String: ReplyScript] {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(parsing: json).root
        } catch {
            throw ScriptError(description: "It is not JSON: \(error).")
        }
        guard root.kind == .object else {
            throw ScriptError(description: "It must be an object whose keys are paths, such as \"/orders\".")
        }
        var paths: [String: ReplyScript] = [:]
        for (path, value) in root.members {
            guard path == "*" || path.hasPrefix("/") else {
                throw ScriptError(
                    description: "\"\(path)\" is no path: paths begin with /, and * stands for all others.")
            }
            paths[path] = try ReplyScript(json: value, path: path)
        }
        return paths
    }
}
