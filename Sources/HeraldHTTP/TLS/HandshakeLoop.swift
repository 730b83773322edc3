internal import CHeraldGnuTLS
internal import CHeraldMicrohttpdErrors
import Glibc
internal import HeraldRuntime
internal import Synchronization

/// The one thread that accepts TLS connections and makes their handshakes, so that they delay no established
/// connection. A complete one is given to a loop of the server. Before that it reads the headers of the PROXY protocol,
/// also of connections without TLS.
///
/// A handshake costs the server a signature, and an attacker nothing. So clients take turns, and the one whose handshakes
/// have cost least is first; those whose handshakes cost much have a quarter of a processor together; each client has a
/// share of the handshakes in progress, and may begin only so many in a second.
///
/// `@unchecked Sendable`: other threads use the constants, the mailbox, the certificate and the atomics; everything else
/// is used only by this thread.
final class HandshakeLoop: @unchecked Sendable {
    private enum Mail: Sendable {
        case stopAccepting(done: Wakeup?)
        case pulse(@Sendable () -> Void)
        case stop
    }

    private struct Handshake {
        let connection: TLSConnection
        let client: HandshakeClient
        /// It can continue, and waits for its turn. It is not in the epoll set then.
        var isReady = false
    }

    /// The processor time of handshakes between two looks for new connections.
    private static let turnNanoseconds: Int64 = 500_000
    private static let acceptedInTurn = 256
    /// Pending connections in the system's queue: in a flood, those of other clients are among them.
    static let backlog: Int32 = 4096
    /// The processor time of heavy clients: the part of all time, and what may gather.
    private static let heavyPart: Int64 = 4
    private static let maxHeavyNanoseconds: Int64 = 20_000_000
    /// The pause after the system refused another descriptor.
    private static let pauseNanoseconds: Int64 = 50_000_000
    /// The number of clients that are remembered.
    private static let maxClients = 65_536

    /// Used for new connections; `nil` without TLS.
    let certificate: Mutex<ServerCertificate?>
    let isAccepting = Atomic(true)
    private let listener: ListeningSocket
    private let loops: [ServerLoop]
    private let addresses: AddressLimit
    private let clock: Clock
    private let handshakeNanoseconds: Int64
    /// Without TLS there is no work in a handshake.
    private let limitsHandshakes: Bool
    /// The number of handshakes in progress, and of complete ones that wait for their loop.
    private let places: Int
    private let waiting = TLSConnection.Waiting()
    private let priorities: gnutls_priority_t
    private let epoll: Epoll
    private let wakeup: Wakeup
    private let mailbox: Mailbox<Mail>

    // This thread.

    private var now: Int64
    private var handshakes: [Int32: Handshake] = [:]
    /// `nil` if no proxy sends headers.
    private var greetings: ProxyGreetings?
    /// The clients of ready handshakes, in the order in which they became ready.
    private var readyClients: [HandshakeClient] = []
    private var clients: [PeerAddress: HandshakeClient] = [:]
    private var shares: AddressShares
    private var nextLoop = 0
    private var nextSweep: Int64 = 0
    private var pausedUntil = Int64.min
    /// The CPU time that heavy clients may use now, on the machine's clock.
    private var heavyAllowance: Int64 = 0
    private var refilledAt: Int64
    private var isListening = true
    private var isStopping = false
    /// Only heavy clients are ready, and have to wait.
    private var isResting = false

    /// Takes ownership of the socket.
    init(
        _ configuration: HTTPServerConfiguration, _ listener: ListeningSocket, loops: [ServerLoop],
        addresses: AddressLimit, clock: Clock
    ) throws(HTTPServerError) {
        self.listener = listener
        self.loops = loops
        self.addresses = addresses
        self.clock = clock
        certificate = Mutex(configuration.certificate)
        greetings = configuration.readsProxyHeaders ? ProxyGreetings() : nil
        handshakeNanoseconds = Int64(configuration.requestDeadlineSeconds) * 1_000_000_000
        limitsHandshakes = configuration.certificate != nil
        places = min(1024, max(16, configuration.maxConnections / 4))
        shares = AddressShares(places: places, factor: 2)
        now = clock.monotonic()
        refilledAt = Clock.system.monotonic()
        guard let priorities = herald_tls_make_priorities() else {
            close(listener.descriptor)
            throw .daemonFailed
        }
        self.priorities = priorities
        do throws(SystemError) {
            epoll = try Epoll()
            wakeup = try Wakeup()
            mailbox = Mailbox(wakeup: wakeup)
            try epoll.add(wakeup.descriptor, .read)
            try epoll.add(listener.descriptor, .read)
        } catch {
            close(listener.descriptor)
            gnutls_priority_deinit(priorities)
            throw .system(error)
        }
    }

    deinit {
        gnutls_priority_deinit(priorities)
        if isAccepting.load(ordering: .relaxed) { close(listener.descriptor) }
    }

    // MARK: Any thread

    func requestStopAccepting(done: Wakeup?) { mailbox.post(.stopAccepting(done: done)) }

    func stop() { mailbox.post(.stop) }

    /// Calls `body` on this thread, in its next round.
    func pulse(_ body: @escaping @Sendable () -> Void) { mailbox.post(.pulse(body)) }

    /// Reads the clock again.
    func wake() { wakeup.signal() }

    // MARK: This thread

    /// The thread's body: returns after `stop`.
    func run() {
        var events: [Int32] = []
        while !isStopping {
            events.removeAll(keepingCapacity: true)
            epoll.wait(milliseconds: milliseconds) { descriptor, _ in events.append(descriptor) }
            now = clock.monotonic()
            for mail in mailbox.takeAll() { read(mail) }
            for descriptor in events {
                if descriptor == wakeup.descriptor { wakeup.clear() }
                if descriptor == listener.descriptor, isListening { accept() }
                if greetings?.contains(descriptor) == true { greet(descriptor) } else { beReady(descriptor) }
            }
            takeTurns()
            if now >= nextSweep { sweep() }
        }
        stopAccepting()
        handshakes = [:]
        for descriptor in greetings?.descriptors(until: .max) ?? [] { refuseGreeting(descriptor) }
    }

    private var milliseconds: Int32 {
        if !readyClients.isEmpty { return isBlocked || isResting ? 5 : 0 }
        let isIdle = handshakes.isEmpty && clients.isEmpty && greetings?.count ?? 0 == 0
        return isIdle && isListening ? -1 : isListening ? 1_000 : 50
    }

    /// The loops have no room for complete ones.
    private var isBlocked: Bool { waiting.count.load(ordering: .relaxed) >= places }

    private func read(_ mail: Mail) {
        switch mail {
        case .stopAccepting(let done):
            stopAccepting()
            done?.signal()
        case .pulse(let body): body()
        case .stop: isStopping = true
        }
    }

    /// Closes the listening socket. Handshakes in progress continue.
    private func stopAccepting() {
        guard isAccepting.load(ordering: .relaxed) else { return }
        if isListening { try? epoll.remove(listener.descriptor) }
        isListening = false
        close(listener.descriptor)
        isAccepting.store(false, ordering: .releasing)
    }

    // MARK: New connections

    private func accept() {
        for _ in 0..<Self.acceptedInTurn {
            var address = SocketAddress()
            let descriptor = address.fill { herald_mhd_accept(listener.descriptor, $0, $1) }
            if descriptor < 0 {
                if errno == EAGAIN { return }
                if errno != ECONNABORTED, errno != EINTR { return pause() }
                continue
            }
            guard let peer = address.withPointer({ pointer, _ in PeerAddress(pointer) }) else {
                close(descriptor)
                continue
            }
            if greetings != nil, addresses.proxies.contains(peer) {
                awaitHeader(descriptor, peer)
            } else {
                begin(descriptor, address, peer)
            }
        }
    }

    // MARK: The PROXY protocol

    private func awaitHeader(_ descriptor: Int32, _ peer: PeerAddress) {
        if let oldest = greetings?.oldest, greetings?.count ?? 0 >= places { refuseGreeting(oldest) }
        guard (try? epoll.add(descriptor, .read)) != nil else { return reset(descriptor) }
        greetings?.add(descriptor, peer, now: now)
    }

    private func greet(_ descriptor: Int32) {
        switch greetings?.read(descriptor) {
        case .reads: break
        case .done(let client):
            try? epoll.remove(descriptor)
            begin(descriptor, SocketAddress(client), client)
        case .failed, nil: refuseGreeting(descriptor)
        }
    }

    /// Closes a connection without a valid header. It gets no response, because its protocol is not known.
    private func refuseGreeting(_ descriptor: Int32) {
        greetings?.remove(descriptor)
        try? epoll.remove(descriptor)
        close(descriptor)
    }

    // MARK: Begin

    /// There is no descriptor for another connection, so the system would report the new ones all the time.
    private func pause() {
        try? epoll.remove(listener.descriptor)
        isListening = false
        pausedUntil = now + Self.pauseNanoseconds
        nextSweep = min(nextSweep, pausedUntil)
    }

    private func begin(_ descriptor: Int32, _ address: SocketAddress, _ peer: PeerAddress) {
        guard addresses.accepts(peer) else { return reset(descriptor) }
        let client = client(peer)
        let limit = limitsHandshakes ? addresses.limit : 0
        guard client.mayBegin(limit: limit, now: now), makeRoom(for: peer) else {
            addresses.countRefusal(of: peer)
            return reset(descriptor)
        }
        let certificate = certificate.withLock { $0 }
        guard let connection = TLSConnection(descriptor, address, peer, certificate, priorities, addresses, now: now)
        else { return }
        if certificate != nil, (try? epoll.add(descriptor, .read)) == nil { return }
        client.count += 1
        shares.add(peer)
        handshakes[descriptor] = Handshake(connection: connection, client: client)
        if certificate == nil { beReady(descriptor) }
    }

    /// Closes the connection of a client that waits for nothing yet, and without a trace in the system.
    private func reset(_ descriptor: Int32) {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    private func client(_ peer: PeerAddress) -> HandshakeClient {
        let isTrusted = addresses.proxies.contains(peer)
        // A proxy is itself: other addresses of its network are not trusted.
        let key = isTrusted ? peer : peer.client
        if let client = clients[key] { return client }
        if clients.count >= Self.maxClients { clients = clients.filter { $0.value.count > 0 } }
        let client = HandshakeClient(isTrusted: isTrusted, now: now)
        clients[key] = client
        return client
    }

    /// A client that has its share of the handshakes gives up its oldest one; when all places are taken, the client with
    /// the most does.
    private func makeRoom(for peer: PeerAddress) -> Bool {
        let isFull = handshakes.count >= places
        let client = client(peer)
        guard isFull || (shares.excess(of: peer) > 0 && !client.isTrusted) else { return true }
        // Its handshakes would be given up for ever newer ones.
        if client.isHeavy { return false }
        let most = isFull ? handshakes.values.lazy.map(\.client.count).max() ?? 0 : 0
        let oldest = handshakes.values.lazy
            .filter { isFull ? $0.client.count == most : $0.connection.peer.client == peer.client }
            .min { $0.connection.since < $1.connection.since }
        guard let oldest else { return false }
        addresses.countRefusal(of: oldest.connection.peer)
        end(oldest.connection.descriptor)
        return true
    }

    // MARK: Handshakes

    private func beReady(_ descriptor: Int32) {
        guard let handshake = handshakes[descriptor], !handshake.isReady else { return }
        handshakes[descriptor]?.isReady = true
        try? epoll.remove(descriptor)
        if handshake.client.ready.isEmpty { readyClients.append(handshake.client) }
        handshake.client.ready.append(descriptor)
    }

    private func takeTurns() {
        var left = Self.turnNanoseconds
        isResting = false
        refill()
        while left > 0, !isBlocked, let descriptor = next(), let handshake = handshakes[descriptor] {
            let begin = processorTime()
            let progress = handshake.connection.shakeHands()
            let time = processorTime() - begin
            if handshake.client.isHeavy { heavyAllowance -= time }
            handshake.client.cost += time
            left -= time
            proceed(handshake, progress)
        }
    }

    private func proceed(_ handshake: Handshake, _ progress: TLSConnection.Progress) {
        let descriptor = handshake.connection.descriptor
        switch progress {
        case .reads, .writes:
            handshakes[descriptor]?.isReady = false
            let interest: Epoll.Interest = progress == .reads ? .read : .write
            if (try? epoll.add(descriptor, interest)) == nil { end(descriptor) }
        case .done:
            end(descriptor)
            handshake.connection.wait(among: waiting)
            loops[nextLoop].post(.arrival(handshake.connection))
            nextLoop = (nextLoop + 1) % loops.count
        case .failed: end(descriptor)
        }
    }

    private func refill() {
        let time = Clock.system.monotonic()
        heavyAllowance = min(Self.maxHeavyNanoseconds, heavyAllowance + (time - refilledAt) / Self.heavyPart)
        refilledAt = time
    }

    /// Returns the ready handshake whose client has cost least; of one client the first. `nil` also while only heavy
    /// clients are ready, and have used up their part of the time.
    private func next() -> Int32? {
        let found = readyClients.indices.min { readyClients[$0].cost < readyClients[$1].cost }
        guard let best = found else { return nil }
        let client = readyClients[best]
        if heavyAllowance <= 0, client.isHeavy {
            isResting = true
            return nil
        }
        let descriptor = client.ready.removeFirst()
        if client.ready.isEmpty { readyClients.remove(at: best) }
        return descriptor
    }

    /// The connection is closed, unless it was given to a loop.
    private func end(_ descriptor: Int32) {
        guard let handshake = handshakes.removeValue(forKey: descriptor) else { return }
        let client = handshake.client
        if !handshake.isReady {
            try? epoll.remove(descriptor)
        } else if let place = client.ready.firstIndex(of: descriptor) {
            client.ready.remove(at: place)
            if client.ready.isEmpty { readyClients.removeAll { $0 === client } }
        }
        client.count -= 1
        shares.remove(handshake.connection.peer)
    }

    /// Once a second: ends handshakes that take too long, and forgets clients.
    private func sweep() {
        nextSweep = now + 1_000_000_000
        if !isListening, isAccepting.load(ordering: .relaxed), now >= pausedUntil {
            isListening = (try? epoll.add(listener.descriptor, .read)) != nil
        }
        for (descriptor, handshake) in handshakes where now - handshake.connection.since >= handshakeNanoseconds {
            end(descriptor)
        }
        for descriptor in greetings?.descriptors(until: now - handshakeNanoseconds) ?? [] {
            refuseGreeting(descriptor)
        }
        for (address, client) in clients {
            client.cost /= 2
            if client.isForgettable(now: now) { clients[address] = nil }
        }
    }
}

/// The CPU time of this thread, in nanoseconds.
private func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
