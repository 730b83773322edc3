internal import CHeraldSSL

/// The shared context of a receiver's TLS sessions.
///
/// `@unchecked Sendable`: never changed after its creation, and OpenSSL counts references to it atomically.
final class TLSContext: @unchecked Sendable {
    private let context: OpaquePointer
    /// The SHA-256 of the public key (DER), in base64.
    let pin: String

    /// Takes ownership of the context.
    init(_ context: OpaquePointer, pin: String) {
        self.context = context
        self.pin = pin
    }

    deinit { SSL_CTX_free(context) }

    /// A session on a connected socket, or `nil` without memory.
    func accept(_ socket: Int32) -> TLSSession? {
        herald_tls_accept(context, socket).map { TLSSession($0) }
    }
}

/// The server side of TLS on one socket. Used by one thread. The handshake happens while reading.
final class TLSSession {
    private let session: OpaquePointer

    fileprivate init(_ session: OpaquePointer) {
        self.session = session
    }

    deinit { SSL_free(session) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Transferred {
        Transferred(herald_tls_read(session, buffer.baseAddress, Int32(clamping: buffer.count)))
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Transferred {
        Transferred(herald_tls_write(session, bytes.baseAddress, Int32(clamping: bytes.count)))
    }

    /// Replaces the keys of what is sent, and says so to the other side.
    func updateKeys() -> Transferred { Transferred(herald_tls_update_keys(session)) }

    /// Whether the handshake has to wait until the socket is writable.
    var wantsToWrite: Bool { herald_tls_wants_write(session) != 0 }

    func close() { herald_tls_close(session) }
}

extension Transferred {
    fileprivate init(_ result: Int) {
        switch result {
        case HERALD_TLS_END: self = .end
        case HERALD_TLS_BLOCKED: self = .blocked
        case HERALD_TLS_FAILED: self = .failed
        default: self = .bytes(result)
        }
    }
}
