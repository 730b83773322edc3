internal import CHeraldMicrohttpd
import Glibc
internal import HeraldRuntime

/// Transfers the bytes of a stream over TLS. The session belongs to libmicrohttpd, which writes the response; the
/// streams' thread writes to a pair of sockets. Between two pieces the connection is suspended, and the loop watches
/// both the near socket and the client's socket, whose end the library does not notice then.
///
/// The loop's thread only.
final class TLSStreamBridge {
    private let connection: ClientConnection
    /// The loop's end. The far one belongs to the streams' thread.
    let near: Int32
    private var isSuspended = false
    /// The client has disconnected, or the server stops.
    private var isOver = false

    private init(_ connection: ClientConnection, near: Int32) {
        self.connection = connection
        self.near = near
    }

    deinit { close(near) }

    /// A bridge and the descriptor of its far end. `nil` without descriptors.
    static func open(_ connection: ClientConnection) -> (bridge: TLSStreamBridge, far: Int32)? {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
        return (TLSStreamBridge(connection, near: pair[0]), pair[1])
    }

    /// The response whose body is read from the bridge; it keeps the bridge alive.
    func makeResponse() -> OpaquePointer? {
        let owner = Unmanaged.passRetained(self).toOpaque()
        guard let response = herald_mhd_stream(owner, readBridge, releaseBridge) else {
            releaseBridge(owner)
            return nil
        }
        return response
    }

    /// Data arrived, the client disconnected, or the server stops: lets the library continue.
    func resume(isOver: Bool) {
        if isOver { self.isOver = true }
        guard isSuspended else { return }
        isSuspended = false
        connection.loop.forget(self, of: connection)
        MHD_resume_connection(connection.handle)
    }

    /// Called by the library when it has written the previous data.
    fileprivate func read(_ buffer: UnsafeMutablePointer<CChar>, _ room: Int) -> Int {
        guard !isOver, connection.phase != .closed else { return HERALD_MHD_STREAM_FAILED }
        let count = recv(near, buffer, room, Int32(MSG_DONTWAIT))
        if count > 0 {
            // The client's deadline for reading.
            connection.loop.setDeadline(connection, seconds: connection.loop.configuration.idleTimeoutSeconds)
            return count
        }
        if count == 0 { return HERALD_MHD_STREAM_END }
        guard errno == EAGAIN || errno == EINTR, connection.loop.watch(self, of: connection) else {
            return HERALD_MHD_STREAM_FAILED
        }
        push()
        connection.deadline = .max
        isSuspended = true
        MHD_suspend_connection(connection.handle)
        return 0
    }
}

extension TLSStreamBridge {
    /// The library corks the socket of a response without a known length, so that the system would delay a piece by 200
    /// ms. It does so once; this undoes it.
    private func push() {
        let descriptor = herald_mhd_descriptor(connection.handle)
        var (off, on): (Int32, Int32) = (0, 1)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &off, 4)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    }
}

private func readBridge(
    _ owner: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
    guard let owner, let buffer else { return HERALD_MHD_STREAM_FAILED }
    return Unmanaged<TLSStreamBridge>.fromOpaque(owner).takeUnretainedValue().read(buffer, room)
}

private func releaseBridge(_ owner: UnsafeMutableRawPointer?) {
    if let owner { Unmanaged<TLSStreamBridge>.fromOpaque(owner).release() }
}
