internal import CHeraldGnuTLS
internal import CHeraldMicrohttpdErrors
import Glibc
internal import Synchronization

/// A client's connection until libmicrohttpd has it, with TLS or without. Owns the socket, the session, and the
/// connection's place in the limit of its address.
///
/// `@unchecked Sendable`: one thread after the other uses it, first that of the handshakes, then that of a loop.
final class TLSConnection: @unchecked Sendable {
    /// The connections whose handshake is complete, and that no loop has taken yet.
    final class Waiting: Sendable {
        let count = Atomic(0)
    }

    enum Progress {
        case done
        case reads
        case writes
        case failed
    }

    let descriptor: Int32
    let peer: PeerAddress
    /// Whether it counts towards the limit of its address.
    let isCounted: Bool
    /// Used by the session until its end; `nil` without TLS.
    let certificate: ServerCertificate?
    /// When it was accepted, on the monotonic clock.
    let since: Int64
    private let address: SocketAddress
    private let addresses: AddressLimit
    private var session: gnutls_session_t?
    private var isMoved = false
    private var waiting: Waiting?

    /// Takes ownership of the descriptor, also if it fails. `nil` without memory.
    init?(
        _ descriptor: Int32, _ address: SocketAddress, _ peer: PeerAddress, _ certificate: ServerCertificate?,
        _ priorities: gnutls_priority_t, _ addresses: AddressLimit, now: Int64
    ) {
        var session: gnutls_session_t?
        if let certificate {
            session = herald_tls_begin(descriptor, priorities, certificate.credentials)
            guard session != nil else {
                close(descriptor)
                return nil
            }
        }
        self.descriptor = descriptor
        self.address = address
        self.peer = peer
        isCounted = !addresses.proxies.contains(peer)
        self.certificate = certificate
        self.addresses = addresses
        self.session = session
        since = now
        if isCounted { addresses.opened(peer) }
    }

    deinit {
        waiting?.count.subtract(1, ordering: .relaxed)
        if isMoved { return }
        if let session { gnutls_deinit(session) }
        close(descriptor)
        if isCounted { addresses.closed(peer) }
    }

    /// Continues the handshake as far as the client's data allow.
    func shakeHands() -> Progress {
        if certificate == nil { return .done }
        guard let session else { return .failed }
        return switch Int(herald_tls_handshake(session)) {
        case HERALD_TLS_DONE: .done
        case HERALD_TLS_READS: .reads
        case HERALD_TLS_WRITES: .writes
        default: .failed
        }
    }

    /// The handshake is complete: counts the connection until a loop has taken it.
    func wait(among waiting: Waiting) {
        self.waiting = waiting
        waiting.count.add(1, ordering: .relaxed)
    }

    /// Gives the socket and the session to the library, which closes both if it fails.
    func move(to daemon: OpaquePointer) -> Bool {
        if isMoved { return false }
        isMoved = true
        let session = session.take().map { UnsafeMutableRawPointer($0) }
        return address.withPointer { herald_mhd_add(daemon, descriptor, $0, $1, session) } != 0
    }
}
