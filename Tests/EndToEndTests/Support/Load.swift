import HeraldTestSupport
import Synchronization

/// Publishers that post as fast as they are answered, each on a thread and a connection of its own, until they are
/// stopped or the server is gone. They remember what was acknowledged: every event has an id of its own.
final class Load: Sendable {
    struct Result: Sendable {
        /// Ids that were answered 202, in no order.
        var acknowledged: Set<String> = []
        /// Ids that were posted and never answered, because the connection broke.
        var unanswered: Set<String> = []
        /// Answers other than 202, by status.
        var refused: [Int: Int] = [:]
    }

    private struct State {
        var result = Result()
        var running: Int
        var isStopped = false
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - most: how many events each publisher posts at most, so that what a slow machine must deliver is bounded.
    ///   - prefix: of the ids.
    ///   - fields: more members of the event with this number, each with a comma in front.
    init(
        port: UInt16, publishers: Int = 4, most: Int = .max, prefix: String,
        fields: @escaping @Sendable (Int) -> String = { _ in "" }
    ) {
        state = Mutex(State(running: publishers))
        for publisher in 0..<publishers {
            RawHTTP.start { [self] in
                publish(port, most, "\(prefix)-\(publisher)-", fields)
                state.withLock { $0.running -= 1 }
            }
        }
    }

    var result: Result { state.withLock { $0.result } }

    /// Waits until the publishers have ended.
    func stop() async throws -> Result {
        state.withLock { $0.isStopped = true }
        try await eventually("the publishers end") { self.state.withLock { $0.running == 0 } }
        return result
    }

    private func publish(
        _ port: UInt16, _ most: Int, _ prefix: String, _ fields: @Sendable (Int) -> String
    ) {
        guard let client = try? RawHTTPClient(port: port) else { return }
        var number = 0
        while number < most, !state.withLock({ $0.isStopped }) {
            number += 1
            let id = prefix + String(number)
            let body = "{\"type\":\"load.test\",\"id\":\"\(id)\",\"data\":{\"n\":\(number)}\(fields(number))}"
            client.send(
                "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            guard let answer = try? client.readResponse() else {
                _ = state.withLock { $0.result.unanswered.insert(id) }
                return
            }
            state.withLock { state in
                if answer.status == 202 {
                    state.result.acknowledged.insert(id)
                } else {
                    state.result.refused[answer.status, default: 0] += 1
                }
            }
        }
    }
}

/// The ids that arrived at each path of a receiver, in their order.
final class Ledger: Sendable {
    private let arrived = Mutex<[String: [String]]>([:])

    /// - Returns: the reply of the receiver.
    func record(_ request: ReceivedRequest) -> ReceiverReply {
        let id = request.header("webhook-id") ?? ""
        arrived.withLock { $0[request.path, default: []].append(id) }
        return .status(200)
    }

    func ids(_ path: String) -> [String] { arrived.withLock { $0[path] ?? [] } }
}

/// A receiver's book: how often each event arrived.
final class Book: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// - Returns: the reply of the receiver.
    @discardableResult
    func record(_ request: ReceivedRequest) -> ReceiverReply {
        let id = request.header("webhook-id") ?? ""
        counts.withLock { $0[id, default: 0] += 1 }
        return .status(200)
    }

    var arrivals: [String: Int] { counts.withLock { $0 } }
    var ids: Set<String> { Set(arrivals.keys) }
    /// Arrivals beyond the first of each event.
    var duplicates: Int { arrivals.values.reduce(0) { $0 + $1 - 1 } }
}
