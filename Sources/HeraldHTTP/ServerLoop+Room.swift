internal import Synchronization

/// A connection that may be closed for a new one.
struct Candidate {
    /// How much the client loses with the connection, from the least.
    enum Loss: Int {
        /// No request was sent, or its header section is incomplete.
        case noRequest
        /// A kept connection between two requests.
        case kept
        /// A body is incomplete.
        case body
        /// A response is not read.
        case unread
        /// A request that only reads gets 503.
        case wait
    }

    let connection: ClientConnection
    /// How many places its client has beyond its share.
    let excess: Int
    let loss: Loss
    /// The start of its phase.
    let since: Int64

    /// Whether it is closed before the other one.
    func precedes(_ other: Candidate) -> Bool {
        (-excess, loss.rawValue, since, connection.number)
            < (-other.excess, other.loss.rawValue, other.since, other.connection.number)
    }
}

/// The connections of one client that may be closed for its new ones. Kept between rounds, because a search visits all
/// connections of the loop.
struct Replaceable {
    /// The first to be closed is the last one.
    var candidates: [Candidate] = []
    /// No search before this time: the last one found nothing.
    var nextSearch = Int64.min
}

// Places for new connections. A client that has more than its share of the places, or more connections than an address
// may have, makes room for its new connections itself. When all places are taken, the clients with the most are first.
extension ServerLoop {
    /// The minimum time for a request to become complete, or for a response to be read, when places are needed. With few
    /// places it is less: a full queue of the system, whose clients all do nothing, has passed through in five seconds.
    private var minimumNanoseconds: Int64 {
        min(1_000_000_000, max(100_000_000, 5_000_000_000 * Int64(maxConnections) / Int64(ListeningSocket.backlog)))
    }
    /// The minimum time for a new connection until its request begins; also the pause after a search that found nothing.
    private static let freshNanoseconds: Int64 = 50_000_000
    /// The minimum time for a request that only reads and waits for its response, such as a long poll.
    private static let minimumWaitNanoseconds: Int64 = 5_000_000_000

    /// A new connection beyond its client's share, or beyond the limit of its address, replaces another one of the
    /// client. If there is none to replace, it is closed in the first case, and in the second one it may use only the
    /// reserve.
    func makeOwnRoom(for connection: ClientConnection) {
        let client = connection.peer.client
        let isBeyondLimit = addresses.excess(of: client) > 0
        let isBeyondShare = shares.excess(of: client, others: streamConnections) > 0
        guard isBeyondLimit || isBeyondShare else { return }
        if let candidate = nextReplaceable(besides: connection) { return close(candidate) }
        connection.usesReserve = isBeyondLimit
        if isBeyondShare {
            addresses.countRefusal(of: client)
            cut(connection, isLate: false)
        }
    }

    /// Places in use by streams over TLS, and by trusted proxies between two requests.
    var streamConnections: Int { connections.count - closing - shares.total }

    /// The next one of its client to be closed for this connection.
    private func nextReplaceable(besides connection: ClientConnection) -> Candidate? {
        let client = connection.peer.client
        var own = replaceable[client] ?? Replaceable()
        defer { replaceable[client] = own }
        while true {
            while let candidate = own.candidates.popLast() {
                if self.candidate(candidate.connection, isOwn: true)?.since == candidate.since { return candidate }
            }
            if now < own.nextSearch { return nil }
            let found = connections.compactMap {
                $0.isShared && $0.peer.client == client && $0 !== connection ? candidate($0, isOwn: true) : nil
            }
            own.candidates = found.sorted { $1.precedes($0) }
            if found.isEmpty { own.nextSearch = now + Self.freshNanoseconds }
        }
    }

    /// Once a second: forgets what was found, and with it connections that have ended.
    func forgetReplaceable() {
        if now < nextForgetting { return }
        nextForgetting = now + 1_000_000_000
        if !replaceable.isEmpty { replaceable = [:] }
    }

    /// All places are taken, and new clients wait for one, which the loop can't see. Several connections are closed at
    /// once, so that the search pays off.
    func makeRoom() {
        guard connections.count - closing >= maxConnections, isAccepting.load(ordering: .relaxed) else { return }
        if now < nextRoom { return }
        let candidates = connections.compactMap { candidate($0, isOwn: false) }.sorted { $0.precedes($1) }
        for candidate in candidates.prefix(max(maxConnections / 32, 1)) { close(candidate) }
        if candidates.isEmpty {
            nextRoom = now + Self.freshNanoseconds
            nextExpiry = min(nextExpiry, nextRoom)
        } else {
            mustRunAgain = true
        }
    }

    private func close(_ candidate: Candidate) {
        let connection = candidate.connection
        guard connection.isWaiting else { return cut(connection, isLate: true) }
        var response = failure(.overloaded, of: connection)
        response.closesConnection = true
        resume(connection, response)
    }

    /// `nil` for a connection that must not be closed.
    /// - Parameter isOwn: whether the place is for the same client, whose incomplete requests need no minimum time.
    private func candidate(_ connection: ClientConnection, isOwn: Bool) -> Candidate? {
        if connection.deadline == .max { return nil }
        let isCounted = !isOwn && connection.isShared
        let excess = !isCounted ? 0 : shares.excess(of: connection.peer, others: streamConnections)
        var since = connection.since
        let minimum: Int64
        let loss: Candidate.Loss
        switch connection.phase {
        case .idle where connection.isFresh:
            (loss, minimum) = (.noRequest, isOwn || excess > 0 ? 0 : Self.freshNanoseconds)
        case .idle: (loss, minimum) = (.kept, 0)
        case .head: (loss, minimum) = (.noRequest, isOwn ? 0 : minimumNanoseconds)
        case .body: (loss, minimum) = (.body, isOwn ? 0 : minimumNanoseconds)
        case .answered:
            since = connection.deadline - Int64(configuration.idleTimeoutSeconds) * 1_000_000_000
            (loss, minimum) = (.unread, minimumNanoseconds)
        case .waiting, .suspended:
            guard connection.onlyReads else { return nil }
            (loss, minimum) = (.wait, Self.minimumWaitNanoseconds)
        default: return nil
        }
        if now - since < minimum { return nil }
        return Candidate(connection: connection, excess: excess, loss: loss, since: since)
    }
}
