internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors
internal import Synchronization

// How a request gets its response.
extension ServerLoop {
    /// Any thread. From within `handle`, or what others post to the loop, the response is sent at once; otherwise it is mail.
    /// - Parameter response: `nil` if the responder was released.
    func answer(_ connection: ClientConnection, _ request: UInt64, _ response: Response?) {
        if isOwnThread, connection.request == request, connection.phase == .handling {
            connection.immediate = response ?? failure(.unanswered, of: connection)
        } else if isOwnThread, readsMail {
            read(.answer(connection, request: request, response))
        } else {
            post(.answer(connection, request: request, response))
        }
    }

    /// The application's response to a failure, with the required fields.
    func failure(_ failure: RequestFailure, of connection: ClientConnection) -> Response {
        var response = handler.failure(failure, for: connection.origin)
        if failure.closesConnection { response.closesConnection = true }
        if let seconds = failure.retryAfterSeconds, !response.headers.contains(where: { $0.isNamed("Retry-After") }) {
            response.headers.append(Response.Field("Retry-After", "\(seconds)"))
        }
        return response
    }

    /// Responds to a waiting request. All responses of one batch of mail are written by the next `MHD_run`.
    func resume(_ connection: ClientConnection, _ response: Response) {
        let isSuspended = connection.phase == .suspended
        endWait(of: connection)
        // If the response is refused, the library polls again, and is told to close.
        _ = queue(connection, response)
        if isSuspended { MHD_resume_connection(connection.handle) }
    }

    /// Delays the response. The library ignores the connection until `release`, and then polls again.
    func hold(_ connection: ClientConnection, _ response: Response) -> Bool {
        // Connections that are suspended when the library stops would make it abort.
        if isStopping {
            var response = response
            response.closesConnection = true
            return queue(connection, response)
        }
        beginHold(of: connection, response)
        MHD_suspend_connection(connection.handle)
        return true
    }

    /// Delays the response to a request that has waited for it.
    func hold(suspended connection: ClientConnection, _ response: Response) {
        endWait(of: connection)
        beginHold(of: connection, response)
    }

    private func beginHold(of connection: ClientConnection, _ response: Response) {
        connection.immediate = response
        connection.immediate?.closesConnection = true
        connection.phase = .held
        setDeadline(connection, milliseconds: response.holdMilliseconds)
    }

    /// The delayed response is due.
    func release(_ connection: ClientConnection) {
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        MHD_resume_connection(connection.handle)
    }

    /// Whether the connection is closed instead of the response. A browser's `EventSource` makes another request after
    /// its connection was closed, but never again after a response other than 200. So a client that accepts nothing but
    /// an event stream gets no response that only puts it off.
    func withholds(_ response: Response, from connection: ClientConnection) -> Bool {
        guard connection.wantsEventStream, response.status == 429 || response.status >= 500 else { return false }
        counters.withheldResponses.addFromOneThread(1)
        return true
    }

    /// Passes the response to the library. `false` closes the connection.
    func queue(_ connection: ClientConnection, _ response: Response) -> Bool {
        // The response to a request that changed something is sent in any case: its client must not repeat it.
        let isRefused = connection.onlyReads && !count(response.body.count, of: connection)
        let response = isRefused ? failure(.overloaded, of: connection) : response
        connection.phase = .answered
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        if withholds(response, from: connection) { return false }
        let status = (200...599).contains(response.status) ? response.status : 500
        counters.countAnswer(status)
        let handle = makeResponse(response.body)
        guard let handle else { return false }
        add(response.headers, to: handle)
        // A stopping server accepts no further requests on open connections.
        if response.closesConnection || connection.isLast || !isAccepting.load(ordering: .relaxed) {
            herald_mhd_add_field(handle, "Connection", "close")
        }
        return herald_mhd_queue(connection.handle, UInt32(status), handle) != 0
    }

    func add(_ fields: [Response.Field], to response: OpaquePointer) {
        if let strictTransport { herald_mhd_add_field(response, "Strict-Transport-Security", strictTransport) }
        for field in fields where field.isSafe && !field.isServersBusiness {
            field.name.withUTF8Buffer { name in
                name.withMemoryRebound(to: CChar.self) { name in
                    field.value.withCString { herald_mhd_add_field(response, name.baseAddress, $0) }
                }
            }
        }
    }
}

/// A body that the library reads in place.
private final class SharedBody {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A small body is copied by the library. A large one is not: a thousand slow clients share the bytes of a page.
private func makeResponse(_ body: [UInt8]) -> OpaquePointer? {
    if body.count <= 16_384 { return body.withUnsafeBytes { herald_mhd_response($0.baseAddress, $0.count) } }
    let owner = Unmanaged.passRetained(SharedBody(body))
    // The bytes of an immutable array do not move, and the owner keeps them until the library has finished.
    let response = owner.takeUnretainedValue().bytes.withUnsafeBytes {
        herald_mhd_shared_response($0.baseAddress, $0.count, owner.toOpaque(), releaseBody)
    }
    if response == nil { owner.release() }
    return response
}

private func releaseBody(_ owner: UnsafeMutableRawPointer?) {
    if let owner { Unmanaged<SharedBody>.fromOpaque(owner).release() }
}

extension Response.Field {
    /// Fields that describe the message on the wire: duplicate or wrong ones would corrupt the connection.
    var isServersBusiness: Bool {
        switch name.utf8CodeUnitCount {
        case 4: isNamed("Date")
        case 10: isNamed("Connection")
        case 14: isNamed("Content-Length")
        case 17: isNamed("Transfer-Encoding")
        default: false
        }
    }
}
