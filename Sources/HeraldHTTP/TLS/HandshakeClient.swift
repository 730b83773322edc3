/// How much work the handshakes of one client were. One thread's.
final class HandshakeClient {
    /// Handshakes that it may begin at once. They come back at a quarter of the limit per second.
    private var allowance = Double.infinity
    /// Whether it is a proxy with many clients: it has no limit and no share.
    let isTrusted: Bool
    private var refilledAt: Int64
    /// Processor time in nanoseconds; halved each second.
    var cost: Int64 = 0
    /// Handshakes in progress.
    var count = 0
    /// The descriptors of those that can continue, the first one first.
    var ready: [Int32] = []

    init(isTrusted: Bool = false, now: Int64) {
        self.isTrusted = isTrusted
        refilledAt = now
    }

    /// Counts a handshake, unless the client has begun too many.
    /// - Parameter limit: 0 for none. It may have changed since the last handshake.
    func mayBegin(limit: Int, now: Int64) -> Bool {
        if limit == 0 || isTrusted { return true }
        let limit = Double(limit)
        allowance = min(limit, allowance + limit / 4 * Double(now - refilledAt) / 1e9)
        refilledAt = now
        if allowance < 1 { return false }
        allowance -= 1
        return true
    }

    /// Whether its handshakes take so much time that it has only a part of what there is for all such clients: about 50
    /// handshakes per second.
    var isHeavy: Bool { !isTrusted && cost > 30_000_000 }

    /// Whether nothing about the client needs to be remembered.
    func isForgettable(now: Int64) -> Bool {
        count == 0 && cost < 1_000 && now - refilledAt >= 4_000_000_000
    }
}
