import HeraldModel
import HeraldTestSupport

/// A receiver that half works, as a value: what it answers to a request that begins at a time, and after how long. Times
/// are seconds since the start of the simulation.
struct SimulatedReceiver {
    enum Trouble {
        /// 503, or 429 with `Retry-After` when there are seconds.
        case rejects(retryAfter: Int?)
        /// 500.
        case fails
        /// No answer until the sender's timeout.
        case hangs
        /// No connection.
        case refuses
    }

    /// How many requests it accepts; what is beyond is answered 429.
    struct Quota {
        enum Kind {
            case bucket(burst: Double)
            case window(seconds: Double, tellsRetryAfter: Bool)
        }
        var perSecond: Double
        var kind: Kind
    }

    /// Requests that wait for one of its workers; those beyond the room are answered 503.
    struct Queue {
        var workers: Int
        var serviceTime: Double
        var room: Int
        /// With a full queue everything takes twice as long.
        var halvesUnderLoad = false
    }

    var latency = 0.005
    var timeout = 15.0
    /// Each request has this chance of the trouble.
    var troubles: [(share: Double, trouble: Trouble)] = []
    /// The fault of all requests at a time, if there is one.
    var outage: (Double) -> Trouble? = { _ in nil }
    /// The quota at a time.
    var quota: (Double) -> Quota? = { _ in nil }
    var queue: Queue?

    private var tokens = -1.0
    private var tokensAt = 0.0
    private var window = -1
    private var usedInWindow = 0.0
    /// When each worker is free, and when each request that was accepted ends.
    private var workersFree: [Double] = []
    private var ends: [Double] = []

    init(_ change: (inout SimulatedReceiver) -> Void = { _ in }) { change(&self) }

    /// - Returns: after how many seconds the attempt ends, and how.
    mutating func answer(at time: Double, using random: inout SeededRandom) -> (delay: Double, outcome: CallbackOutcome)
    {
        if let trouble = outage(time) { return result(of: trouble) }
        for (share, trouble) in troubles where Double.random(in: 0..<1, using: &random) < share {
            return result(of: trouble)
        }
        if let quota = quota(time), let retryAfter = isBeyond(quota, at: time) {
            return (latency, .answered(429, retryAfter: retryAfter > 0 ? retryAfter : nil))
        }
        if let queue { return enqueue(queue, at: time, using: &random) }
        return (latency * Double.random(in: 0.9...1.1, using: &random), .answered(200))
    }

    func result(of trouble: Trouble) -> (Double, CallbackOutcome) {
        switch trouble {
        case .rejects(let retryAfter): (latency, .answered(retryAfter == nil ? 503 : 429, retryAfter: retryAfter))
        case .fails: (latency, .answered(500))
        case .hangs: (timeout, CallbackOutcome(verdict: .failed(.timeout, detail: "timeout"), duration: 0))
        case .refuses: (0.0005, CallbackOutcome(verdict: .failed(.connect, detail: "refused"), duration: 0))
        }
    }

    /// - Returns: `nil`: it is within; else seconds until there is room, 0 when it doesn't say.
    private mutating func isBeyond(_ quota: Quota, at time: Double) -> Int? {
        switch quota.kind {
        case .bucket(let burst):
            if tokens < 0 { tokens = burst }
            tokens = min(burst, tokens + (time - tokensAt) * quota.perSecond)
            tokensAt = time
            if tokens < 1 { return 0 }
            tokens -= 1
        case .window(let seconds, let tells):
            let current = Int(time / seconds)
            if current != window { (window, usedInWindow) = (current, 0) }
            if usedInWindow >= quota.perSecond * seconds {
                return tells ? Int((Double(current + 1) * seconds - time).rounded(.up)) : 0
            }
            usedInWindow += 1
        }
        return nil
    }

    private mutating func enqueue(
        _ queue: Queue, at time: Double, using random: inout SeededRandom
    ) -> (delay: Double, outcome: CallbackOutcome) {
        ends.removeAll { $0 <= time }
        guard ends.count < queue.workers + queue.room else { return (latency, .answered(503)) }
        if workersFree.isEmpty { workersFree = Array(repeating: 0, count: queue.workers) }
        let isLoaded = queue.halvesUnderLoad && ends.count >= 2 * queue.workers
        let service = -queue.serviceTime * (isLoaded ? 2 : 1) * Double.logOfUnit(&random)
        var worker = 0
        for other in workersFree.indices where workersFree[other] < workersFree[worker] { worker = other }
        let end = max(time, workersFree[worker]) + service
        workersFree[worker] = end
        ends.append(end)
        if end - time + latency > timeout { return result(of: .hangs) }
        return (latency + end - time, .answered(200))
    }
}
