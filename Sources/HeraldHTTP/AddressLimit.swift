internal import HeraldRuntime
internal import Synchronization

/// Counts the connections of each client, over all loops. Used when a connection is accepted and when it ends, so the
/// lock is taken twice in a connection's life, not for each request.
///
/// A client may have a few connections beyond the limit. They serve only the requests that the application keeps a
/// reserve for (`RequestHandler.mayUseReserve`), while no other connection of the client can be closed for them.
final class AddressLimit: Sendable {
    private struct State {
        var counts: [PeerAddress: Int] = [:]
        var refusals = 0
        /// Since the last report.
        var unreported = 0
        var nextReport = Int64.min
    }

    /// 0 for none.
    private let limit: Int
    let proxies: TrustedProxies
    private let clock: Clock
    private let report: @Sendable (RefusalReport) -> Void
    private let state = Mutex(State())

    /// The time between two reports.
    private static let reportNanoseconds: Int64 = 60_000_000_000

    /// - Parameter limit: 0 for no limit.
    init(limit: Int, proxies: TrustedProxies, clock: Clock, report: @escaping @Sendable (RefusalReport) -> Void) {
        self.limit = limit
        self.proxies = proxies
        self.clock = clock
        self.report = report
    }

    private var reserve: Int { max(8, limit / 8) }

    /// Whether a connection may be accepted. Those of a trusted proxy are counted for the clients of its requests.
    func accepts(_ peer: PeerAddress) -> Bool { proxies.contains(peer) || admits(peer) }

    /// Whether a client may connect. Two loops that accept at the same time may both use the last place.
    func admits(_ peer: PeerAddress) -> Bool {
        if limit == 0 || state.withLock({ $0.counts[peer.client, default: 0] < limit + reserve }) { return true }
        countRefusal(of: peer)
        return false
    }

    func opened(_ peer: PeerAddress) {
        if limit > 0 { state.withLock { $0.counts[peer.client, default: 0] += 1 } }
    }

    func closed(_ peer: PeerAddress) {
        if limit == 0 { return }
        state.withLock { state in
            let count = state.counts[peer.client, default: 0] - 1
            state.counts[peer.client] = count > 0 ? count : nil
        }
    }

    /// How many connections the client has beyond the limit; 0 if none.
    func excess(of peer: PeerAddress) -> Int {
        limit == 0 ? 0 : max(0, state.withLock { $0.counts[peer.client, default: 0] } - limit)
    }

    /// A connection or a request was refused because of its client's other connections.
    func countRefusal(of peer: PeerAddress) {
        let now = clock.monotonic()
        let unreported = state.withLock { state -> Int? in
            state.refusals += 1
            state.unreported += 1
            if now < state.nextReport { return nil }
            state.nextReport = now + Self.reportNanoseconds
            defer { state.unreported = 0 }
            return state.unreported
        }
        if let unreported { report(RefusalReport(address: peer, count: unreported)) }
    }

    /// Since the start.
    var refusals: Int { state.withLock { $0.refusals } }
}

/// Connections and requests that were refused because their address had too many connections.
package struct RefusalReport: Sendable {
    /// The address of the last one.
    package let address: PeerAddress
    /// Since the previous report.
    package let count: Int
}
