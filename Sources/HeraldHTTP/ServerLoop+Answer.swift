internal import CHeraldMicrohttpd
internal import CHeraldMicrohttpdErrors
internal import Synchronization

// How a request gets its answer.
extension ServerLoop {
    /// Any thread. From within `handle` the answer goes out at once; otherwise it is mail.
    /// - Parameter response: nil if the responder was let go.
    func answer(_ connection: ClientConnection, _ request: UInt64, _ response: Response?) {
        if isOwnThread, connection.request == request, connection.phase == .handling {
            connection.immediate = response ?? failure(.unanswered)
        } else {
            post(.answer(connection, request: request, response))
        }
    }

    /// The application's response for a failure, with the fields that the failure asks for.
    func failure(_ failure: RequestFailure) -> Response {
        var response = handler.failure(failure)
        if failure.closesConnection { response.closesConnection = true }
        if let seconds = failure.retryAfterSeconds, !response.headers.contains(where: { $0.isNamed("Retry-After") }) {
            response.headers.append(Response.Field("Retry-After", "\(seconds)"))
        }
        return response
    }

    /// Answers a waiting request. All answers of one batch of mail are written by the `MHD_run` after it.
    func resume(_ connection: ClientConnection, _ response: Response) {
        let isSuspended = connection.phase == .suspended
        endWait(of: connection)
        // If it isn't taken, the library asks for an answer again, and is told to close.
        _ = queue(connection, response)
        if isSuspended { MHD_resume_connection(connection.handle) }
    }

    /// Puts the response off. The library lets the connection alone until `release`, and then asks again.
    func hold(_ connection: ClientConnection, _ response: Response) -> Bool {
        var response = response
        response.closesConnection = true
        // What is suspended when the library stops would be its end.
        if isStopping { return queue(connection, response) }
        connection.immediate = response
        connection.phase = .held
        setDeadline(connection, milliseconds: response.holdMilliseconds)
        MHD_suspend_connection(connection.handle)
        return true
    }

    /// The response that was put off is due.
    func release(_ connection: ClientConnection) {
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        MHD_resume_connection(connection.handle)
    }

    /// Hands the response to the library. False: close the connection.
    func queue(_ connection: ClientConnection, _ response: Response) -> Bool {
        connection.phase = .answered
        setDeadline(connection, seconds: configuration.idleTimeoutSeconds)
        let status = (200...599).contains(response.status) ? response.status : 500
        counters.countAnswer(status)
        let handle = makeResponse(response.body)
        guard let handle else { return false }
        add(response.headers, to: handle)
        // A server that is being emptied takes no further requests on old connections.
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

/// A small body is copied by the library. A large one is not: a thousand clients who hardly read share the bytes of a page.
private func makeResponse(_ body: [UInt8]) -> OpaquePointer? {
    if body.count <= 16_384 { return body.withUnsafeBytes { herald_mhd_response($0.baseAddress, $0.count) } }
    let owner = Unmanaged.passRetained(SharedBody(body))
    // Nothing moves the bytes of an array that nobody changes, and the owner keeps them until the library is done.
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
    /// Fields that describe the message on the wire: two of them, or wrong ones, would corrupt the connection.
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
