import Glibc
import Synchronization

/// A webhook receiver for tests: an HTTP server on a free port of loopback that does what its script says, good or bad.
///
/// One thread for each connection, so that a script may hold, drip or break a connection without disturbing others.
///
///     let receiver = try Receiver { request in request.path == "/bad" ? .status(500) : .status(204) }
///     defer { receiver.close() }
///     … receiver.url("/hook") …
///     let requests = await receiver.requests(1)
public final class Receiver: Sendable {
    public typealias Script = @Sendable (ReceivedRequest) -> ReceiverReply

    public let address: String
    public let port: UInt16

    private struct State {
        var requests: [ReceivedRequest] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var connections: Set<Int32> = []
        var connectionCount = 0
        var isClosed = false
    }

    private let script: Script
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameters:
    ///   - address: an IPv4 address of loopback.
    ///   - script: called on the connection's thread for each complete request.
    public init(address: String = "127.0.0.1", port: UInt16 = 0, script: @escaping Script = { _ in .status(200) })
        throws
    {
        (listener, self.port) = try listenOnLoopback(address, port)
        self.address = address
        self.script = script
        try startThread { [self] in acceptAll() }
    }

    public func url(_ path: String = "/") -> String { "http://\(address):\(port)\(path)" }

    /// Everything received so far, in the order in which it was complete.
    public var requests: [ReceivedRequest] { state.withLock { $0.requests } }

    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Waits until that many requests have come, and returns all that have.
    public func requests(_ count: Int) async -> [ReceivedRequest] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.requests.count >= count || state.isClosed { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return requests
    }

    /// Breaks all connections and refuses new ones.
    public func close() {
        let (connections, waiting) = state.withLock { state in
            defer { state.waiting = [] }
            state.isClosed = true
            return (state.connections, state.waiting)
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
        for entry in waiting { entry.continuation.resume() }
    }

    /// Closes the connections that are open, and goes on listening: what a keep-alive timeout looks like.
    public func closeConnections() {
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    private func acceptAll() {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            let number = state.withLock { state in
                state.connections.insert(connection)
                state.connectionCount += 1
                return state.connectionCount
            }
            do {
                try startThread { [self] in
                    serve(connection, number)
                    state.withLock { _ = $0.connections.remove(connection) }
                    Glibc.close(connection)
                }
            } catch {
                Glibc.close(connection)
            }
        }
        Glibc.close(listener)
    }

    private func serve(_ connection: Int32, _ number: Int) {
        var reader = RequestReader(connection: connection, number: number)
        while let request = reader.next() {
            let ready = state.withLock { state in
                state.requests.append(request)
                let count = state.requests.count
                let ready = state.waiting.filter { $0.count <= count }
                state.waiting.removeAll { $0.count <= count }
                return ready
            }
            for entry in ready { entry.continuation.resume() }
            guard script(request).perform(on: connection) else { return }
        }
    }
}

/// Listens without ever answering a call: `connect` succeeds until the queue of the kernel is full.
public func listenOnLoopback(_ address: String = "127.0.0.1", _ port: UInt16 = 0) throws -> (Int32, UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(listener, pointer, length) != 0 || listen(listener, 1024) != 0
                || getsockname(listener, pointer, &length) != 0
        }
    }
    if failed { throw ReceiverError(call: "listening on \(address):\(port)", code: errno) }
    return (listener, UInt16(bigEndian: name.sin_port))
}

public struct ReceiverError: Error {
    public let call: String
    public let code: Int32
}

/// A detached thread with a small stack.
private func startThread(_ body: @escaping @Sendable () -> Void) throws {
    final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, 256 * 1024)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let start = Unmanaged.passRetained(Start(body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, &attributes,
        { argument in
            if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
            return nil
        }, start.toOpaque())
    if code != 0 {
        start.release()
        throw ReceiverError(call: "pthread_create", code: code)
    }
}
