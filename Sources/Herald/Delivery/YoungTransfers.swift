/// Counts the attempts that have just started, so that no more are open than the loop can keep busy: with receivers that
/// answer at once, each transfer beyond a hundred costs time and brings none. An attempt that takes longer waits for its
/// receiver and costs nothing; it is old then, and counts no more.
struct YoungTransfers {
    /// Nanoseconds. Long for a receiver near by, short for one that is slow: `limit` in each such span are more starts
    /// than a loop can make.
    static let age: Int64 = 5_000_000
    static let limit = 128

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
