internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors
import Glibc
internal import HeraldRuntime
internal import Synchronization

// Streams over TLS: see TLSStreamBridge.
extension ServerLoop {
    /// - Precondition: the connection is suspended, its request complete.
    func openBridge(_ connection: ClientConnection, _ start: StreamStart) {
        guard let (bridge, far) = TLSStreamBridge.open(connection) else {
            return resume(connection, failure(.overloaded, of: connection))
        }
        guard let response = bridge.makeResponse() else {
            close(far)
            return resume(connection, failure(.overloaded, of: connection))
        }
        endWait(of: connection)
        counters.countAnswer(200)
        connection.phase = .detached
        connection.bridge = bridge
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        add(start.headers, to: response)
        herald_mhd_add_field(response, "Connection", "close")
        // If the response is refused, the connection closes, and with it the bridge: the stream ends as if its client
        // had disconnected.
        _ = herald_mhd_queue(connection.handle, 200, response)
        MHD_resume_connection(connection.handle)
        if connection.isCounted { addresses.closed(connection.peer) }
        connection.isCounted = false
        leaveShare(connection)
        streams.prepare(herald_mhd_descriptor(connection.handle))
        streams.open(start, far, writesHead: false)
    }

    /// Until data arrives or the client disconnects.
    func watch(_ bridge: TLSStreamBridge, of connection: ClientConnection) -> Bool {
        let client = herald_mhd_descriptor(connection.handle)
        guard let epoll = bridgeEpoll, client >= 0 else { return false }
        do throws(SystemError) {
            try epoll.add(bridge.near, [.read, .hangUp])
            try epoll.add(client, .hangUp)
        } catch {
            return false
        }
        bridges[bridge.near] = bridge
        bridges[client] = bridge
        return true
    }

    func forget(_ bridge: TLSStreamBridge, of connection: ClientConnection) {
        for descriptor in [bridge.near, herald_mhd_descriptor(connection.handle)] {
            bridges[descriptor] = nil
            try? bridgeEpoll?.remove(descriptor)
        }
    }

    /// Between two runs of the library.
    func checkBridges() {
        var ready: [Int32] = []
        bridgeEpoll?.wait(milliseconds: 0) { descriptor, _ in ready.append(descriptor) }
        for descriptor in ready {
            guard let bridge = bridges[descriptor] else { continue }
            // The client's socket is watched only for its end.
            bridge.resume(isOver: descriptor != bridge.near)
        }
    }
}
