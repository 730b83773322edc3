/// Counts the attempts that have just started, so that no more are open than keep the loop busy: each transfer beyond
/// costs time and brings none, since their handles take turns in the processor's cache. While the loop is busy, an attempt
/// is young. One whose receiver has let the loop sleep for a while is waited for, and costs nothing: it is old then, and
/// counts no more.
///
/// All times are of the clock that goes while the loop sleeps (`CallbackSender.slept`), in nanoseconds.
struct YoungTransfers {
    /// Of sleep. So a loop whose receivers are all far away starts up to `limit` in each two milliseconds.
    static let age: Int64 = 2_000_000
    static let limit = 64

    /// In the order of their starts. The token's turn tells whether it is the same attempt that started.
    private var started: [(token: Int, turn: Int, at: Int64)] = []
    private var first = 0
    /// Of each token: odd while its attempt is young.
    private var turns: [Int] = []
    private(set) var count = 0

    var isFull: Bool { count >= Self.limit }

    /// When the oldest of them is old; `nil`: there is none.
    var nextOld: Int64? { first < started.count ? started[first].at + Self.age : nil }

    mutating func start(_ token: Int, now: Int64) {
        while turns.count <= token { turns.append(0) }
        turns[token] += 1
        count += 1
        started.append((token, turns[token], now))
    }

    mutating func end(_ token: Int) {
        guard turns[token] & 1 == 1 else { return }
        turns[token] += 1
        count -= 1
    }

    mutating func grow(now: Int64) {
        while first < started.count {
            let (token, turn, at) = started[first]
            let isYoung = turns[token] == turn
            if isYoung && at + Self.age > now { break }
            if isYoung { end(token) }
            first += 1
        }
        if first > 256 && first * 2 > started.count {
            started.removeFirst(first)
            first = 0
        }
    }
}
