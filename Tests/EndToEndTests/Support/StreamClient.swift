import HeraldJSON
import HeraldTestSupport
import Synchronization

/// One message of a live stream.
struct StreamMessage: Sendable {
    var name: String?
    var id: String?
    var data = ""

    var json: JSONDocument? { try? JSONDocument(parsing: data) }
}

/// A client of a live stream, on a blocking socket: for threads of its own.
final class StreamClient {
    let head: String
    private let client: RawHTTPClient

    /// Connects and reads the head of the answer.
    init(
        port: UInt16, _ query: String = "", path: String = "/v1/events/stream", lastEventID: String? = nil,
        key: String? = nil, headers: [String: String] = [:]
    ) throws {
        client = try RawHTTPClient(port: port)
        let field =
            (lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? "")
            + (key.map { "Authorization: Bearer \($0)\r\n" } ?? "")
            + headers.map { "\($0): \($1)\r\n" }.joined()
        client.send(
            "GET \(path)\(query) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                + "User-Agent: test\r\n\(field)\r\n")
        guard let head = try client.read(until: "\r\n\r\n") else { throw HeraldFailure(what: "no answer") }
        self.head = head
    }

    /// The next message; nil when the connection has ended.
    func next() throws -> StreamMessage? {
        guard let text = try client.read(until: "\n\n") else { return nil }
        var message = StreamMessage()
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
            switch line.prefix(while: { $0 != ":" }) {
            case "event": message.name = value
            case "id": message.id = value
            case "data": message.data = value
            default: break
            }
        }
        return message
    }

    func leave() { client.reset() }
}

/// A client that comes again whenever its connection ends, and breaks it itself now and then.
final class ReturningClient: Sendable {
    private struct State {
        var random: SeededRandom
        var ids: [String] = []
        var connections = 0
        var resets = 0
        var port: UInt16
        var isStopped = false
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - breaks: about every so many messages.
    ///   - seed: of when it breaks.
    init(port: UInt16, path: String = "/v1/events/stream", query: String, breaks: Int, seed: UInt64) {
        state = Mutex(State(random: SeededRandom(seed: seed), port: port))
        RawHTTP.start { [self] in
            var last: String?
            while !state.withLock({ $0.isStopped }) {
                let messages = state.withLock { Int.random(in: 1...(2 * breaks), using: &$0.random) }
                try? listen(path, query, &last, messages: messages)
                briefPause()
            }
        }
    }

    /// The events that came, in order.
    var ids: [String] { state.withLock { $0.ids } }
    var connections: Int { state.withLock { $0.connections } }
    /// How often it was told that something may be missing.
    var resets: Int { state.withLock { $0.resets } }

    /// The server is there now.
    func move(to port: UInt16) { state.withLock { $0.port = port } }
    func stop() { state.withLock { $0.isStopped = true } }

    private func listen(_ path: String, _ query: String, _ last: inout String?, messages: Int) throws {
        let client = try StreamClient(port: state.withLock { $0.port }, query, path: path, lastEventID: last)
        guard client.head.hasPrefix("HTTP/1.1 200") else { return }
        state.withLock { $0.connections += 1 }
        for _ in 0..<messages {
            guard let message = try client.next() else { return }
            if let id = message.id { last = id }
            state.withLock { state in
                if message.name == "reset" { state.resets += 1 }
                if message.name == nil, let id = message.id { state.ids.append(id) }
            }
        }
        client.leave()
    }
}
