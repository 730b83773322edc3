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

    /// 0 for none. It may change, so connections are counted without a limit, too.
    private let atomicLimit: Atomic<Int>
    let proxies: TrustedProxies
    private let clock: Clock
    private let report: @Sendable (RefusalReport) -> Void
    private let state = Mutex(State())

    /// The time between two reports.
    private static let reportNanoseconds: Int64 = 60_000_000_000

    /// - Parameter limit: 0 for no limit.
    init(limit: Int, proxies: TrustedProxies, clock: Clock, report: @escaping @Sendable (RefusalReport) -> Void) {
        atomicLimit = Atomic(limit)
        self.proxies = proxies
        self.clock = clock
        self.report = report
    }

    /// 0 for none. A lower one closes no connections. Any thread.
    var limit: Int {
        get { atomicLimit.load(ordering: .relaxed) }
        set { atomicLimit.store(newValue, ordering: .relaxed) }
    }

    private static func reserve(_ limit: Int) -> Int { max(8, limit / 8) }

    /// Whether a connection may be accepted. Those of a trusted proxy are counted for the clients of its requests.
    func accepts(_ peer: PeerAddress) -> Bool { proxies.contains(peer) || admits(peer) }

    /// Whether a client may connect. Two loops that accept at the same time may both use the last place.
    func admits(_ peer: PeerAddress) -> Bool {
        let limit = limit
        if limit == 0 || count(of: peer) < limit + Self.reserve(limit) { return true }
        countRefusal(of: peer)
        return false
    }

    func opened(_ peer: PeerAddress) {
        state.withLock { $0.counts[peer.client, default: 0] += 1 }
    }

    func closed(_ peer: PeerAddress) {
        state.withLock { state in
            let count = state.counts[peer.client, default: 0] - 1
            state.counts[peer.client] = count > 0 ? count : nil
        }
    }

    /// How many connections the client has beyond the limit; 0 if none.
    func excess(of peer: PeerAddress) -> Int {
        let limit = limit
        return limit == 0 ? 0 : max(0, count(of: peer) - limit)
    }

    private func count(of peer: PeerAddress) -> Int { state.withLock { $0.counts[peer.client, default: 0] } }

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
        if let unreported { report(RefusalReport(address: peer, count: unreported, limit: limit)) }
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
    /// The connections that an address may have; 0 for any number.
    package let limit: Int
}
