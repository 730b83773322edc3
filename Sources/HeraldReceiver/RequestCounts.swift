internal import HeraldJSON
internal import Synchronization

/// Counts the requests of each path per second, so that no log has to be parsed. Any thread.
package final class RequestCounts: Sendable {
    /// Only seconds with requests take memory: a path that is requested once, late in the day, takes no more than any other.
    fileprivate struct Seconds {
        /// Ascending.
        private(set) var counts: [(second: Int, count: Int64)] = []

        /// The number of seconds up to the last request.
        var length: Int { (counts.last?.second ?? -1) + 1 }
    }

    fileprivate struct Path {
        var attempts = Seconds()
        /// First successes (2xx) of an id.
        var useful = Seconds()
        /// Repeated successes of an id.
        var duplicates = Seconds()
        /// Hashes of the ids with a success.
        var answered: Set<Int> = []

        var length: Int { attempts.length + useful.length + duplicates.length }
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
    /// The numbers of a response.
    private static let maxNumbers = 20_000_000

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
    /// `attempts`, `useful` and `duplicates`. Trailing zeros are omitted. `left_out` is the number of paths whose arrays are
    /// beyond 20,000,000 numbers together; it is omitted if it is 0.
    package func json(now: Int64) -> [UInt8] { json(now: now, maxNumbers: Self.maxNumbers) }

    func json(now: Int64, maxNumbers: Int) -> [UInt8] {
        let state = state.withLock { $0 }
        var (left, leftOut) = (maxNumbers, 0)
        var json = JSONWriter()
        json.object { json in
            json.member("seconds", Double(now - state.began) / 1e9)
            json.object("paths") { json in
                for (name, path) in state.paths.sorted(by: { $0.key < $1.key }) {
                    guard path.length <= left else {
                        leftOut += 1
                        continue
                    }
                    left -= path.length
                    json.object(name) { json in
                        for (key, numbers) in [
                            ("attempts", path.attempts), ("useful", path.useful), ("duplicates", path.duplicates),
                        ] {
                            json.array(key) { numbers.write(to: &$0) }
                        }
                    }
                }
            }
            if leftOut > 0 { json.member("left_out", leftOut) }
        }
        return json.bytes
    }
}

extension RequestCounts.Path {
    /// - Parameter id: a hash; `nil` if the request has no id, so that it is always a first one.
    fileprivate mutating func add(_ second: Int, isSuccess: Bool, id: Int?) {
        attempts.add(second)
        guard isSuccess else { return }
        if id.map({ answered.insert($0).inserted }) ?? true {
            useful.add(second)
        } else {
            duplicates.add(second)
        }
    }
}

extension RequestCounts.Seconds {
    fileprivate mutating func add(_ second: Int) {
        // A request may be counted after a later one.
        var index = counts.count
        while index > 0, counts[index - 1].second > second { index -= 1 }
        if index > 0, counts[index - 1].second == second {
            counts[index - 1].count += 1
        } else {
            counts.insert((second: second, count: 1), at: index)
        }
    }

    fileprivate func write(to array: inout JSONArrayWriter) {
        var next = 0
        for (second, count) in counts {
            for _ in next..<second { array.element(Int64(0)) }
            array.element(count)
            next = second + 1
        }
    }
}
