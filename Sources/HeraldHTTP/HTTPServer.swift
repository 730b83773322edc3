import Glibc
package import HeraldRuntime
internal import Synchronization

/// An HTTP/1.1 server on libmicrohttpd, with strict parsing. It owns its threads, one for each loop.
///
/// It makes the process ignore SIGPIPE: a disconnected client is an error of `send`, not a signal.
package final class HTTPServer: Sendable {
    /// The port that it listens on, also if the system chose it.
    package let port: UInt16
    private let loops: [ServerLoop]
    /// With TLS or the PROXY protocol.
    private let handshakes: HandshakeLoop?
    private let streams: StreamLoop
    private let addresses: AddressLimit
    /// `nil` after the threads were joined. The lock makes a second `stop` wait for the first.
    private let threads: Mutex<[HeraldRuntime.Thread]>

    /// Listens, and starts the threads.
    package init(
        _ configuration: HTTPServerConfiguration, handler: any RequestHandler, clock: Clock = .system
    ) throws(HTTPServerError) {
        if let problem = configuration.problem { throw .invalidConfiguration(problem) }
        signal(SIGPIPE, SIG_IGN)
        let sockets = try ListeningSocket.open(
            host: configuration.host, port: configuration.port,
            count: configuration.hasAcceptingThread ? 1 : configuration.loops,
            backlog: configuration.hasAcceptingThread ? HandshakeLoop.backlog : ListeningSocket.backlog)
        port = sockets[0].port
        let addresses = AddressLimit(
            limit: configuration.maxConnectionsPerAddress, proxies: configuration.trustedProxies, clock: clock,
            report: configuration.reportRefusals)
        self.addresses = addresses
        do throws(SystemError) {
            streams = try StreamLoop(
                maxStreams: configuration.possibleStreams, addresses: addresses, clock: clock)
        } catch {
            for socket in sockets { close(socket.descriptor) }
            throw .system(error)
        }
        // Otherwise connections come from the thread of the handshakes, which has the only socket.
        let loopsAccept = !configuration.hasAcceptingThread
        let count = loopsAccept ? sockets.count : configuration.loops
        var loops: [ServerLoop] = []
        do throws(HTTPServerError) {
            for index in 0..<count {
                let socket = loopsAccept ? sockets[index] : nil
                loops.append(
                    try ServerLoop(
                        configuration, socket, handler: handler, addresses: addresses, streams: streams, clock: clock))
            }
            handshakes =
                loopsAccept
                ? nil
                : try HandshakeLoop(configuration, sockets[0], loops: loops, addresses: addresses, clock: clock)
        } catch {
            // The failed loop has closed its socket, and the loops before it close theirs.
            for socket in sockets.dropFirst(loops.count + 1) { close(socket.descriptor) }
            if !loopsAccept, loops.count < count { close(sockets[0].descriptor) }
            throw error
        }
        self.loops = loops
        threads = Mutex([])
        do throws(SystemError) {
            try startThreads()
        } catch {
            stop()
            throw .system(error)
        }
    }

    private func startThreads() throws(SystemError) {
        func start(
            _ name: String, _ priority: HeraldRuntime.Thread.Priority, _ body: @escaping @Sendable () -> Void
        ) throws(SystemError) {
            let thread = try HeraldRuntime.Thread(name: name, priority: priority, body: body)
            threads.withLock { $0.append(thread) }
        }
        try start("http-streams", .normal) { [streams] in streams.run() }
        for (index, loop) in loops.enumerated() { try start("http-\(index)", .prompt) { loop.run() } }
        if let handshakes { try start("http-handshakes", .prompt) { handshakes.run() } }
    }

    deinit { stop() }

    /// Closes the listening socket. Open requests continue, and their connections are closed after the response.
    /// Returns when no new connection is possible.
    package func stopAccepting() {
        handshakes?.stopAccepting()
        for loop in loops { loop.requestStopAccepting() }
    }

    /// Responds to every waiting request with 503, ends the streams, closes all connections and ends the threads. May
    /// be called again. Must not be called from a handler, which runs on one of these threads.
    package func stop() {
        threads.withLock { threads in
            handshakes?.stop()
            for loop in loops { loop.post(.stop) }
            streams.stop()
            for thread in threads { thread.join() }
            threads = []
        }
    }

    /// Uses another certificate for new connections; open ones keep theirs. Only for a server that was started with a
    /// certificate. Any thread.
    package func replaceCertificate(_ certificate: ServerCertificate) {
        handshakes?.certificate.withLock { $0 = certificate }
    }

    /// Changes two settings of the configuration while the server runs. Connections that are open stay open. Any thread.
    package func change(allowedHosts: [String], maxConnectionsPerAddress: Int) {
        addresses.limit = maxConnectionsPerAddress
        for loop in loops { loop.post(.allowedHosts(allowedHosts)) }
    }

    package var statistics: HTTPServerStatistics {
        var statistics = HTTPServerStatistics()
        for loop in loops { loop.counters.add(to: &statistics) }
        statistics.openStreams = streams.count
        statistics.cutStreams = streams.cuts
        statistics.refusedByAddress = addresses.refusals
        statistics.certificateExpiration = handshakes?.certificate.withLock { $0?.expiration }
        return statistics
    }

    /// The threads that serve connections and streams.
    package var pulses: [Pulse] {
        var pulses = [Pulse(thread: "http-streams") { [streams] in streams.perform($0) }]
        for (index, loop) in loops.enumerated() {
            pulses.append(Pulse(thread: "http-\(index)") { loop.post($0) })
        }
        if let handshakes { pulses.append(Pulse(thread: "http-handshakes") { handshakes.pulse($0) }) }
        return pulses
    }

    /// For tests: makes the loops read the clock.
    func wake() {
        for loop in loops { loop.wake() }
        streams.wake()
        handshakes?.wake()
    }
}

extension ServerLoop {
    /// Any thread. Returns afterwards.
    fileprivate func requestStopAccepting() {
        if isOwnThread { return stopAccepting() }
        let done = try? Wakeup()
        post(.stopAccepting(done: done))
        // Without a descriptor for the wakeup, waiting is impossible.
        while let done, isAccepting.load(ordering: .acquiring), !isOver.load(ordering: .acquiring) {
            done.wait(milliseconds: 100)
        }
    }
}

extension HandshakeLoop {
    /// Any other thread. Returns when no new connection is possible.
    fileprivate func stopAccepting() {
        let done = try? Wakeup()
        requestStopAccepting(done: done)
        while let done, isAccepting.load(ordering: .acquiring) { done.wait(milliseconds: 100) }
    }
}
