internal import CHeraldGnuTLS
internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors
import Glibc

// Refusals before the end of the request, which are the last response of a connection. libmicrohttpd would send some of
// these responses by itself, with a page of its own, and close the socket while the client still sends, which can
// destroy responses. So the socket is taken from it, and the response is sent here.
extension ServerLoop {
    /// The library is about to send a response of its own.
    func refuse(_ connection: ClientConnection, libraryStatus status: UInt32) {
        if connection.phase == .left { return }
        leave(connection, failure(connection.failure(ofLibraryStatus: Int(status), configuration), of: connection))
    }

    /// The library has closed a connection silently: because the client has closed it, or because it found no method or
    /// no target in the first line. The socket shows which.
    func refuseFirstLine(of connection: ClientConnection) {
        guard connection.phase == .idle, connection.finishedIn != round, connection.deadline != .max,
            connection.certificate == nil, !isStopping
        else { return }
        let descriptor = herald_mhd_descriptor(connection.handle)
        if hasEnded(descriptor) { return }
        // The library closes its own descriptor next.
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard own >= 0 else { return }
        let response = failure(.malformed(.requestLine), of: connection)
        counters.countAnswer(response.status)
        seeOff(own, of: connection, unsent: response.bytes(wall: wall))
    }

    private func seeOff(_ descriptor: Int32, of connection: ClientConnection, unsent: [UInt8]) {
        leaving.add(descriptor, connection.isCounted ? connection.peer : nil, unsent: unsent, now: now)
        connection.isCounted = false
        nextExpiry = min(nextExpiry, now + LeavingClients.nanoseconds)
    }

    /// Sends a response at once, takes the client's socket, and lets the library close the connection. Must be called
    /// from a callback of the library about this connection.
    /// - Returns: `true`, which is the callback's result.
    @discardableResult
    func leave(_ connection: ClientConnection, _ response: Response, isToHead: Bool = false) -> Bool {
        var response = response
        if let strictTransport { response.headers.append(.init("Strict-Transport-Security", strictTransport)) }
        let isWithheld = withholds(response, from: connection)
        if !isWithheld { counters.countAnswer(response.status) }
        var bytes = isWithheld ? [] : response.bytes(wall: wall, hasBody: !isToHead)
        if let session = herald_mhd_tls_session(connection.handle) {
            herald_tls_send_last(session, bytes, bytes.count)
            bytes = []
        }
        connection.reset()
        connection.phase = .left
        connection.deadline = .max
        MHD_suspend_connection(connection.handle)
        let own = herald_mhd_detach(connection.handle, streams.placeholder)
        MHD_resume_connection(connection.handle)
        mustRunAgain = true
        if own >= 0 {
            seeOff(own, of: connection, unsent: bytes)
        }
        return true
    }

    /// Whether the client has closed its side, and everything it sent was read.
    func hasEnded(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }
}

extension ClientConnection {
    /// The failure for a status of the library, which depends on the phase of the request.
    fileprivate func failure(
        ofLibraryStatus status: Int, _ configuration: HTTPServerConfiguration
    ) -> RequestFailure {
        switch status {
        case 413: .bodyTooLarge
        case 414: .targetTooLong
        case 431: .headTooLarge(limit: configuration.maxHeadBytes)
        case 505: .unsupportedVersion
        case 500...: .unanswered
        default:
            switch phase {
            case .idle: .malformed(.requestLine)
            case .head: .malformed(herald_mhd_has_bad_length(handle) != 0 ? .contentLength : .line)
            default: .malformed(.chunk)
            }
        }
    }
}
