internal import HeraldJSON
internal import Synchronization

/// Counts the requests of each path per second, so that no log has to be parsed. Any thread.
package final class RequestCounts: Sendable {
    /// Arrays by the number of the second.
    fileprivate struct Path {
        var attempts: [Int64] = []
        /// First successes (2xx) of an id.
        var useful: [Int64] = []
        /// Repeated successes of an id.
        var duplicates: [Int64] = []
        /// Hashes of the ids with a success.
        var answered: Set<Int> = []
    }

    private struct State {
        /// Monotonic nanoseconds.
        var began: Int64
        var paths: [String: Path] = [:]
    }

    private let state: Mutex<State>

    /// Requests to further paths are not counted.
    private static let maxPaths = 100_000
    private static let maxSeconds = 86_400

    /// - Parameter now: the start of the first second, on the clock of `ReceivedRequest.receivedAt`.
    package init(now: Int64) {
        state = Mutex(State(began: now))
    }

    /// Handshakes do not count.
    package func add(_ request: ReceivedRequest, _ reply: ReceiverReply) {
        guard request.method != "OPTIONS" else { return }
        let name = ScriptedReplies.path(of: request.path)
        let id = reply.isSuccess ? request.header("webhook-id").map(\.hashValue) : nil
        state.withLock { state in
            let second = Int(max(0, request.receivedAt - state.began) / 1_000_000_000)
            guard second < Self.maxSeconds, state.paths.count < Self.maxPaths || state.paths[name] != nil else {
                return
            }
            state.paths[name, default: Path()].add(second, isSuccess: reply.isSuccess, id: id)
        }
    }

    /// Resets all counts.
    package func reset(now: Int64) { state.withLock { $0 = State(began: now) } }

    /// An object: `seconds` since the start, and `paths`, each with an array of numbers, one for each second, for
    /// `attempts`, `useful` and `duplicates`. Trailing zeros are omitted.
    package func json(now: Int64) -> [UInt8] {
        let state = state.withLock { $0 }
        var json = JSONWriter()
        json.object { json in
            json.member("seconds", Double(now - state.began) / 1e9)
            json.object("paths") { json in
                for (name, path) in state.paths.sorted(by: { $0.key < $1.key }) {
                    json.object(name) { json in
                        for (key, numbers) in [
                            ("attempts", path.attempts), ("useful", path.useful), ("duplicates", path.duplicates),
                        ] {
                            json.array(key) { for number in numbers { $0.element(number) } }
                        }
                    }
                }
            }
        }
        return json.bytes
    }
}

extension RequestCounts.Path {
    /// - Parameter id: a hash; `nil` if the request has no id, so that it is always a first one.
    fileprivate mutating func add(_ second: Int, isSuccess: Bool, id: Int?) {
        Self.count(&attempts, second)
        guard isSuccess else { return }
        if id.map({ answered.insert($0).inserted }) ?? true {
            Self.count(&useful, second)
        } else {
            Self.count(&duplicates, second)
        }
    }

    private static func count(_ numbers: inout [Int64], _ second: Int) {
        while numbers.count <= second { numbers.append(0) }
        numbers[second] += 1
    }
}
