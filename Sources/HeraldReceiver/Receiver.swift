internal import HeraldRuntime
internal import Synchronization

/// A webhook receiver that follows a script, with or without faults: an HTTP server for tests.
///
/// It supports HTTP/1.1 and HTTP/2, the latter with ALPN over TLS, and otherwise for clients that start with it. One
/// thread serves all connections; the object can be used from any thread.
///
///     let receiver = try Receiver { request in request.path == "/bad" ? .status(500) : .status(204) }
///     defer { receiver.close() }
///     … receiver.url("/hook") …
///     let requests = await receiver.requests(1)
package final class Receiver: Sendable {
    /// Called for each complete request, on the receiver's thread: must return soon, and must not call `close`.
    package typealias Script = @Sendable (ReceivedRequest) -> ReceiverReply

    /// The treatment of a new connection by a receiver.
    package enum Welcome: String, Sendable {
        case serve
        /// Accepts it and never reads from it.
        case ignore
        case close
        /// Resets it (TCP RST).
        case reset
    }

    package struct Configuration: Sendable {
        /// An IPv4 address.
        package var address = "127.0.0.1"
        /// 0 lets the system choose a free one.
        package var port: UInt16 = 0
        package var tls: ReceiverTLS?
        /// Called with the number of each new connection, 1 for the first, on the receiver's thread.
        package var welcome: @Sendable (Int) -> Welcome = { _ in .serve }
        /// A larger body gets 413.
        package var maxBodyBytes = 16 * 1024 * 1024
        /// Further connections wait in the system's queue.
        package var maxConnections = 10_000
        /// The number of requests kept for `requests`.
        package var maxRecordedRequests = 1_000_000

        package init() {}
    }

    package let address: String
    package let port: UInt16
    /// The SHA-256 of the receiver's public key (DER), in base64; `nil` without TLS.
    package let pin: String?
    private let scheme: String
    private let recording: Recording
    private let mailbox: Mailbox<ReceiverLoop.Work>
    /// `nil` after it was closed. The lock makes a second `close` wait for the first.
    private let thread: Mutex<HeraldRuntime.Thread?>
    private let isRefusing = Mutex(false)

    /// Listens, and starts the thread.
    package init(_ configuration: Configuration, script: @escaping Script) throws(ReceiverError) {
        let context = try configuration.tls.map { settings throws(ReceiverError) in
            try settings.authority.serverContext(settings)
        }
        let listener = try ReceiverSocket(address: configuration.address, port: configuration.port)
        recording = Recording(limit: configuration.maxRecordedRequests)
        address = configuration.address
        port = listener.port
        pin = context?.pin
        scheme = configuration.tls == nil ? "http" : "https"
        do throws(SystemError) {
            let loop = try ReceiverLoop(
                configuration, listener, tls: context, recording: recording, clock: .system, script: script)
            mailbox = loop.mailbox
            thread = Mutex(try HeraldRuntime.Thread(name: "receiver") { loop.run() })
        } catch {
            throw .system(error)
        }
    }

    /// - Parameters:
    ///   - address: an IPv4 address.
    ///   - port: 0 lets the system choose a free one.
    ///   - tls: `nil` for plain HTTP.
    package convenience init(
        address: String = "127.0.0.1", port: UInt16 = 0, tls: ReceiverTLS? = nil,
        script: @escaping Script = { _ in .status(200) }
    ) throws(ReceiverError) {
        var configuration = Configuration()
        configuration.address = address
        configuration.port = port
        configuration.tls = tls
        try self.init(configuration, script: script)
    }

    deinit { close() }

    package func url(_ path: String = "/") -> String { "\(scheme)://\(address):\(port)\(path)" }

    // MARK: What came

    /// All requests so far, in the order of their completion.
    package var requests: [ReceivedRequest] { recording.requests }

    /// The number of all requests, including those that are not kept.
    package var requestCount: Int { recording.requestCount }

    package var connectionCount: Int { recording.connectionCount }

    /// Waits for this number of requests, and returns all requests so far. Returns early when the receiver is closed or
    /// the task is cancelled.
    package func requests(_ count: Int) async -> [ReceivedRequest] {
        await requests { $0.count >= count }
    }

    /// Waits until the condition holds for the requests so far, and returns them; returns early in the same cases.
    package func requests(
        until condition: @escaping @Sendable ([ReceivedRequest]) -> Bool
    ) async -> [ReceivedRequest] {
        await recording.wait(until: condition)
        return recording.requests
    }

    // MARK: Its end

    /// Closes open connections, and keeps listening, like a keep-alive timeout. Returns afterwards.
    package func closeConnections() { perform { .closeConnections(done: $0) } }

    /// Resets open connections, and closes the listening socket, like a process that died. Returns afterwards.
    package func refuseConnections() {
        isRefusing.withLock { isRefusing in
            perform { .refuse(done: $0) }
            isRefusing = true
        }
    }

    /// Listens on the same port again after `refuseConnections`. Returns afterwards.
    package func acceptConnections() throws(ReceiverError) {
        try isRefusing.withLock { isRefusing throws(ReceiverError) in
            guard isRefusing else { return }
            let socket = try ReceiverSocket(address: address, port: port)
            perform { .listen(socket, done: $0) }
            isRefusing = false
        }
    }

    /// Runs work on the thread, and waits for it.
    private func perform(_ work: (HeraldRuntime.Semaphore) -> ReceiverLoop.Work) {
        let done = HeraldRuntime.Semaphore()
        let isOpen = thread.withLock { thread in
            if thread != nil { mailbox.post(work(done)) }
            return thread != nil
        }
        if isOpen { done.wait() }
    }

    /// Refuses new connections, resets all others and ends the thread. May be called again.
    package func close() {
        thread.withLock { thread in
            guard let running = thread else { return }
            mailbox.post(.stop)
            running.join()
            thread = nil
        }
        recording.finish()
    }
}
