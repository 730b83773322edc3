internal import HeraldJSON
internal import Synchronization

/// Replies to requests according to their URLs (`/status/503`, `/hook?flaky=3`), or to a JSON script that names paths:
///
///     {
///       "/orders": [{"status": 503, "retry-after": 2, "times": 3}, {"status": 200, "delay": 0.5}],
///       "*": {"status": 404}
///     }
///
/// Each path counts its own requests. Any thread.
package final class ScriptedReplies: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
        /// For paths whose scripts need it; "" is shared by all that are counted together.
        var paths: [String: PathState] = [:]
        /// Scripts that replace the initial ones.
        var replaced: [String: ReplyScript] = [:]
        var outage: ReplyScript?
    }

    private let seed: UInt64
    private let paths: [String: ReplyScript]
    private let state = Mutex(State())

    /// The number of paths with counts; requests to others always get the first step.
    private static let maxCounts = 100_000

    /// - Parameters:
    ///   - json: a script. Other paths use their URLs.
    ///   - query: directives for requests without any, as in a query: `status=503&delay=2`. The default is the script's
    ///     `*`, or 200.
    ///   - seed: of all random choices.
    package init(json: [UInt8]? = nil, otherwise query: String? = nil, seed: UInt64 = 0) throws(ScriptError) {
        self.seed = seed
        let scripts = try json.map { json throws(ScriptError) in try Self.parse(json) } ?? [:]
        var paths = scripts.compactMapValues { $0 }
        if let query {
            guard let script = try ReplyScript(target: "?" + query) else {
                throw ScriptError(
                    description: "\"\(query)\" holds no directive. `herald receiver --help` lists all.")
            }
            paths["*"] = script
        }
        self.paths = paths
    }

    package func reply(to request: ReceivedRequest) -> ReceiverReply {
        let script: ReplyScript
        do throws(ScriptError) {
            script = try self.script(for: request.path)
        } catch {
            return .status(400, headers: [("content-type", "text/plain")], body: "\(error)\n")
        }
        if request.method == "OPTIONS" { return Self.handshake(request, script) }
        if script.isSimple { return script.lastStep.reply(to: request) }
        let number = number(request, script)
        let name = script.isTogether ? "" : request.path
        let fresh = PathState(script, random: SeededRandom(seed: seed, name: name), now: request.receivedAt)
        return state.withLock { state in
            if state.paths.count >= Self.maxCounts, state.paths[name] == nil {
                var path = fresh
                return path.reply(to: request, script, number: number)
            }
            return state.paths[name, default: fresh].reply(to: request, script, number: number)
        }
    }

    private func script(for target: String) throws(ScriptError) -> ReplyScript {
        let path = Self.path(of: target)
        let (replaced, others) = state.withLock { ($0.outage ?? $0.replaced[path], $0.replaced["*"]) }
        if let script = replaced ?? paths[path] { return script }
        return try ReplyScript(target: target) ?? others ?? paths["*"] ?? ReplyScript()
    }

    static func path(of target: String) -> String { String(target.prefix { $0 != "?" }) }

    // MARK: Changes while it runs

    /// Replaces the scripts of the paths in a JSON script, and resets their counts; `null` restores the initial script
    /// of a path.
    package func replace(_ json: [UInt8]) throws(ScriptError) {
        let scripts = try Self.parse(json)
        state.withLock { state in
            for (path, script) in scripts { state.replaced[path] = script }
            state.counts = state.counts.filter { scripts[Self.path(of: $0.key)] == nil }
            state.paths = state.paths.filter { $0.key != "" && scripts[Self.path(of: $0.key)] == nil }
        }
    }

    /// Replies to every request with these directives (JSON) from now on, with 503 unless they say otherwise.
    package func beginOutage(_ json: [UInt8]) throws(ScriptError) {
        var script = ReplyScript()
        if !json.isEmpty { script = try ReplyScript(json: try Self.root(json), path: "the outage") }
        if script.steps.count == 1, script.lastStep.status == nil { script.lastStep.status = 503 }
        state.withLock { $0.outage = script }
    }

    /// Ends the outage. Limits start again, including a slow start.
    package func endOutage() {
        state.withLock { state in
            state.outage = nil
            state.paths = [:]
        }
    }

    /// From 1.
    private func number(_ request: ReceivedRequest, _ script: ReplyScript) -> Int {
        if script.steps.count == 1 { return 1 }
        let key = request.path + (script.countsPer.map { " " + (request.header($0) ?? "") } ?? "")
        return state.withLock { state in
            let number = (state.counts[key] ?? 0) + 1
            if number > 1 || state.counts.count < Self.maxCounts { state.counts[key] = number }
            return number
        }
    }

    /// The response to the validation request of the CloudEvents webhook specification.
    private static func handshake(_ request: ReceivedRequest, _ script: ReplyScript) -> ReceiverReply {
        var headers = [("allow", "POST, OPTIONS")]
        if let origin = script.allowedOrigin ?? request.header("webhook-request-origin"), origin != "none" {
            headers.append(("webhook-allowed-origin", origin))
            headers.append(
                ("webhook-allowed-rate", script.allowedRate ?? request.header("webhook-request-rate") ?? "*"))
        }
        return .status(200, headers: headers)
    }

    private static func root(_ json: [UInt8]) throws(ScriptError) -> JSONValue {
        do throws(JSONError) {
            return try JSONDocument(parsing: json).root
        } catch {
            throw ScriptError(description: "It is not JSON: \(error).")
        }
    }

    /// - Returns: the scripts by path; `nil` for `null`.
    private static func parse(_ json: [UInt8]) throws(ScriptError) -> [String: ReplyScript?] {
        let root = try root(json)
        guard root.kind == .object else {
            throw ScriptError(description: "It must be an object whose keys are paths, such as \"/orders\".")
        }
        var paths: [String: ReplyScript?] = [:]
        for (path, value) in root.members {
            guard path == "*" || path.hasPrefix("/") else {
                throw ScriptError(
                    description: "\"\(path)\" is no path: paths begin with /, and * stands for all others.")
            }
            paths[path] = .some(value.isNull ? nil : try ReplyScript(json: value, path: path))
        }
        return paths
    }
}
