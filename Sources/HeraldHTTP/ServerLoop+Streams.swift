internal import CHeraldMicrohttpd
internal import Synchronization

// Streams. libmicrohttpd would keep its 16 KiB for each, scan all suspended connections whenever one is resumed, and
// not notice clients that disconnect. So a stream takes the socket, and the library releases the rest.
extension ServerLoop {
    /// - Precondition: the connection is suspended, its request complete.
    func detach(_ connection: ClientConnection, _ start: StreamStart) {
        if isStopping { return resume(connection, failure(.stopping)) }
        if connection.certificate != nil { return openBridge(connection, start) }
        let descriptor = herald_mhd_detach(connection.handle, streams.placeholder)
        guard descriptor >= 0 else { return resume(connection, failure(.overloaded)) }
        endWait(of: connection)
        counters.countAnswer(200)
        connection.phase = .detached
        connection.isDetached = true
        // The library polls, is refused, and closes the placeholder.
        MHD_resume_connection(connection.handle)
        streams.open(start, descriptor, connection.peer)
    }
}
