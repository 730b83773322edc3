/// The state of a path between requests. Its only clock is `ReceivedRequest.receivedAt`.
struct PathState: Sendable {
    private let began: Int64
    private var limiter: RateLimiter?
    private var queue: WorkQueue?
    private var random: SeededRandom

    init(_ script: ReplyScript, random: SeededRandom, now: Int64) {
        began = now
        limiter = RateLimiter(script.rate, now: now)
        queue = WorkQueue(script.work)
        self.random = random
    }

    /// - Parameter number: the number of the request, from 1.
    mutating func reply(to request: ReceivedRequest, _ script: ReplyScript, number: Int) -> ReceiverReply {
        let now = request.receivedAt
        if case .refused(let seconds) = limiter?.decide(at: now) {
            return .status(429, headers: script.rate.isAnnounced ? [("retry-after", "\(seconds)")] : [])
        }
        let step = script.step(for: number, seconds: Double(now - began) / 1e9, &random)
        var reply = step.reply(to: request)
        // A hanging request occupies no worker, because its end is unknown.
        guard queue != nil, step.failure != .hang else { return reply }
        guard let done = queue?.add(at: now, work: Int64(step.delayMilliseconds) * 1_000_000) else {
            return .status(503)
        }
        if done > now { reply.hold = .milliseconds(Int((done - now + 999_999) / 1_000_000)) }
        return reply
    }
}
