import Glibc
import HeraldJSON
import HeraldTestSupport
import Synchronization
import Testing

/// The real binary, serving on a port of its own, with a folder of its own.
final class HeraldProcess: Sendable {
    let process: ChildProcess
    let port: UInt16
    let folder: TemporaryFolder
    /// Sent with every request that says nothing else.
    private let key: String?
    private let isOwner: Bool
    /// Each closes when neither the test nor this object has it any more.
    private let receivers = Mutex<[Receiver]>([])

    /// Starts `herald serve` and waits until it listens.
    /// - Parameters:
    ///   - folder: of an earlier process, to go on with its data.
    ///   - listen: where; by default on a free port.
    ///   - data: the data folder, when it is not the folder itself.
    ///   - adminKey: the operator's key; every request is sent with it. With a key, receivers on loopback need a setting,
    ///     which is the default.
    ///   - prefix: a program and its arguments that run the server, such as `strace`.
    static func start(
        folder: TemporaryFolder = TemporaryFolder(), data: String? = nil, listen: String = "127.0.0.1:0",
        _ arguments: [String] = [],
        environment: [String: String] = [:], adminKey: String? = nil, prefix: [String] = []
    ) async throws -> HeraldProcess {
        let command = ["serve", "--listen", listen, "--log-format", "json"]
        let store = try TestStore.arguments(data: data ?? folder.path + "/data", folder)
        return try await start(
            command: command + store + arguments, environment: environment, adminKey: adminKey, prefix: prefix,
            folder: folder)
    }

    /// Starts a server with all arguments.
    static func start(
        command: [String], environment: [String: String] = [:], adminKey: String? = nil, prefix: [String] = [],
        folder: TemporaryFolder = TemporaryFolder()
    ) async throws -> HeraldProcess {
        let all = prefix + [try Binary.path()] + command
        let process = try ChildProcess(
            all[0], Array(all.dropFirst()),
            environment: environment.merging(
                adminKey.map { ["HERALD_ADMIN_KEY": $0, "HERALD_ALLOW_NETWORKS": loopback] } ?? [:]
            ) { own, _ in own })
        do {
            let port: UInt16 = try await eventually("herald listens") {
                if let port = Self.port(process.lines) { return port }
                if process.end != nil { throw HeraldFailure(what: "herald did not start: \(process.text)") }
                return nil
            }
            return HeraldProcess(process, port, folder, key: adminKey)
        } catch {
            process.signal(SIGKILL)
            throw error
        }
    }

    /// The setting that opens loopback.
    static let loopback = "127.0.0.0/8,::1/128"

    private init(_ process: ChildProcess, _ port: UInt16, _ folder: TemporaryFolder, key: String?, isOwner: Bool = true)
    {
        self.key = key
        self.isOwner = isOwner
        self.process = process
        self.port = port
        self.folder = folder
    }

    deinit { if isOwner { process.signal(SIGKILL) } }

    /// Returns a client of this server without a key. The server must outlive it.
    static func stranger(to herald: HeraldProcess) -> HeraldProcess {
        HeraldProcess(herald.process, herald.port, herald.folder, key: nil, isOwner: false)
    }

    private static func port(_ lines: [String]) -> UInt16? {
        for line in lines {
            guard let entry = try? JSONDocument(parsing: line), entry["message"]?.string == "listening",
                let address = entry["address"]?.string, let colon = address.lastIndex(of: ":")
            else { continue }
            return UInt16(address[address.index(after: colon)...])
        }
        return nil
    }

    // MARK: Its end

    /// TERM.
    @discardableResult
    func stop(within seconds: Double = patience) async throws -> ChildProcess.End {
        process.signal(SIGTERM)
        return try await process.ended(within: seconds)
    }

    /// `kill -9`.
    func kill() async throws {
        process.signal(SIGKILL)
        try await process.ended()
    }

    /// Starts another process with this data.
    func restart(_ arguments: [String] = []) async throws -> HeraldProcess {
        try await HeraldProcess.start(folder: folder, arguments)
    }

    /// The entries of the log with this message.
    func log(_ message: String) -> [JSONDocument] {
        process.lines.compactMap { try? JSONDocument(parsing: $0) }.filter { $0["message"]?.string == message }
    }

    /// Its address, for clients.
    var url: String { "http://127.0.0.1:\(port)" }

    // MARK: Requests

    /// One request on a connection of its own.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, _ headers: [String: String] = [:]
    ) async throws -> Answer {
        var lines = ["Host": "127.0.0.1:\(port)"]
        if let key { lines["Authorization"] = "Bearer \(key)" }
        if let body {
            lines["Content-Type"] = "application/json"
            lines["Content-Length"] = "\(body.utf8.count)"
        }
        lines.merge(headers) { $1 }
        let head = lines.map { "\($0.key): \($0.value)\r\n" }.sorted().joined()
        let answer = try await sendRaw(
            "\(method) \(path) HTTP/1.1\r\n\(head)\r\n\(body ?? "")", isHead: method == "HEAD")
        ResponseRecord.add(answer, to: method, path)
        return answer
    }

    /// These bytes, on a connection of its own.
    func sendRaw(_ text: String, isHead: Bool = false) async throws -> Answer {
        try await RawHTTP.onThread { [port] in
            let client = try RawHTTPClient(port: port, sending: text)
            guard let response = try client.readResponse(isToHead: isHead) else {
                throw HeraldFailure(what: "no answer to \(text.prefix(80))")
            }
            return Answer(response)
        }
    }

    func get(_ path: String, _ headers: [String: String] = [:]) async throws -> Answer {
        try await send("GET", path, nil, headers)
    }

    func post(_ path: String, _ body: String, _ headers: [String: String] = [:]) async throws -> Answer {
        try await send("POST", path, body, headers)
    }

    // MARK: What most tests do

    /// Starts a receiver that stays open as long as this server.
    /// - Parameter script: must not use this server, which would keep both open.
    func receiver(_ script: @escaping Receiver.Script = { _ in .status(200) }) throws -> Receiver {
        let receiver = try Receiver(script: script)
        receivers.withLock { $0.append(receiver) }
        return receiver
    }

    /// Registers a webhook.
    /// - Parameter fields: more members of the registration, such as `"retry_schedule": [1]`.
    func register(_ url: String, _ fields: String...) async throws -> Answer {
        try await register(url, fields: fields)
    }

    private func register(_ url: String, fields: [String]) async throws -> Answer {
        let members = ["\"url\": \"\(url)\""] + fields
        let answer = try await post("/v1/delegates", "{\(members.joined(separator: ", "))}")
        guard answer.status == 201 else { throw HeraldFailure(what: "not registered: \(answer.text)") }
        return answer
    }

    /// Starts a receiver as `receiver` does, and registers it as a webhook.
    /// - Returns: the id of the webhook, too.
    func registerReceiver(
        _ fields: String..., script: @escaping Receiver.Script = { _ in .status(200) }
    ) async throws -> (Receiver, id: String) {
        let receiver = try receiver(script)
        return (receiver, try await register(receiver.url(), fields: fields).id)
    }

    /// Posts an event.
    /// - Returns: its id.
    @discardableResult
    func publish(_ type: String = "test.happened", _ fields: String...) async throws -> String {
        let members = ["\"type\": \"\(type)\""] + fields
        let answer = try await post("/v1/events", "{\(members.joined(separator: ", "))}")
        guard answer.status == 202 else { throw HeraldFailure(what: "not posted: \(answer.text)") }
        return answer.id
    }

    /// Waits until the answer to a GET is as it should be.
    func get(
        _ path: String, _ headers: [String: String] = [:], within seconds: Double = patience,
        until isThere: @escaping @Sendable (Answer) -> Bool
    ) async throws -> Answer {
        try await eventually("GET \(path) is as expected", within: seconds) { [port, key] in
            let client = try RawHTTPClient(port: port)
            var fields = ["Host": "127.0.0.1", "Connection": "close"]
            if let key { fields["Authorization"] = "Bearer \(key)" }
            fields.merge(headers) { $1 }
            client.send("GET \(path) HTTP/1.1\r\n\(fields.map { "\($0): \($1)\r\n" }.joined())\r\n")
            guard let response = try client.readResponse() else { return nil }
            let answer = Answer(response)
            return isThere(answer) ? answer : nil
        }
    }

    /// Waits until the deliveries of an event have these states, in the order of the delegates' registration.
    func deliveries(
        of event: String, _ states: String..., within seconds: Double = patience, headers: [String: String] = [:]
    ) async throws -> [JSONValue] {
        let answer = try await get("/v1/events/\(event)", headers, within: seconds) {
            ($0["deliveries"].map { Array($0.elements) } ?? []).map { $0["state"]?.string } == states
        }
        return answer["deliveries"].map { Array($0.elements) } ?? []
    }
}

/// Where the binary is.
enum Binary {
    /// `HERALD_BINARY`, or what was built beside the tests.
    static func path() throws -> String {
        if let path = getenv("HERALD_BINARY") { return String(cString: path) }
        for configuration in ["release", "debug"] {
            let path = root + ".build/\(configuration)/herald"
            if access(path, X_OK) == 0 { return path }
        }
        throw HeraldFailure(what: "there is no herald: run script/build, or set HERALD_BINARY")
    }

    /// The package's folder, from this file's place in it.
    private static var root: String {
        #filePath.split(separator: "/").dropLast(4).reduce("/") { $0 + $1 + "/" }
    }

    /// Runs the binary to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (end: ChildProcess.End, text: String) {
        try await ChildProcess.run(try path(), arguments, environment: environment)
    }
}

/// A step that the tests need has failed.
struct HeraldFailure: Error {
    let what: String
}

extension HeraldProcess {
    /// Makes sixteen requests from one address to a server that needs no key, and that lets an address have eight connections.
    /// The last eight are refused, since the first eight wait: a connection whose request has arrived is not closed for a new one.
    func exceedAddressLimit() async throws {
        let tag = try #require(try await get("/v1/app-state").header("etag"))
        try await RawHTTP.onThread { [port] in
            func poll() throws -> [RawHTTPClient] {
                try (0..<8).map { _ in
                    let client = try RawHTTPClient(port: port, source: 7)
                    client.send("GET /v1/app-state?wait=60 HTTP/1.1\r\nHost: a\r\nIf-None-Match: \(tag)\r\n\r\n")
                    return client
                }
            }
            let waiting = try poll()
            let metrics = try RawHTTPClient(port: port, source: 6)
            try blockUntil("eight requests wait") {
                metrics.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
                let text = try #require(try metrics.readResponse()).text
                return text.contains("\nherald_http_requests_waiting 8\n") ? true : nil
            }
            for client in try poll() { _ = try? client.readToEnd() }
            withExtendedLifetime(waiting) {}
        }
    }
}
